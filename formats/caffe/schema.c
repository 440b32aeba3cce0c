/* caffe.proto as far as a network that is run needs it: names and numbers of fields. What training
 * and data layers alone read is known by name, and skipped. */
#include "reader.h"

#define TYPE(symbol, text)                                    \
  static const tn_proto_type symbol = {text, symbol##_fields, \
                                       sizeof symbol##_fields / sizeof *symbol##_fields}

static const tn_proto_field BlobShape_fields[] = {
    {"dim", 1, TN_FIELD_INT, true, NULL, NULL},
};
TYPE(BlobShape, "BlobShape");

static const tn_proto_field BlobProto_fields[] = {
    {"num", 1, TN_FIELD_INT, false, NULL, NULL},
    {"channels", 2, TN_FIELD_INT, false, NULL, NULL},
    {"height", 3, TN_FIELD_INT, false, NULL, NULL},
    {"width", 4, TN_FIELD_INT, false, NULL, NULL},
    {"data", 5, TN_FIELD_FLOATS, false, NULL, NULL},
    {"diff", 6, TN_FIELD_SKIP, false, NULL, NULL},
    {"shape", 7, TN_FIELD_MESSAGE, false, &BlobShape, NULL},
    {"double_data", 8, TN_FIELD_DOUBLES, false, NULL, NULL},
    {"double_diff", 9, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(BlobProto, "BlobProto");

static const tn_proto_field NetStateRule_fields[] = {
    {"phase", 1, TN_FIELD_INT, false, NULL, "TRAIN=0 TEST=1"},
    {"min_level", 2, TN_FIELD_INT, false, NULL, NULL},
    {"max_level", 3, TN_FIELD_INT, false, NULL, NULL},
    {"stage", 4, TN_FIELD_TEXT, true, NULL, NULL},
    {"not_stage", 5, TN_FIELD_TEXT, true, NULL, NULL},
};
TYPE(NetStateRule, "NetStateRule");

static const tn_proto_field Filler_fields[] = {
    {"type", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"value", 2, TN_FIELD_FLOAT, false, NULL, NULL},
    {"min", 3, TN_FIELD_FLOAT, false, NULL, NULL},
    {"max", 4, TN_FIELD_FLOAT, false, NULL, NULL},
    {"mean", 5, TN_FIELD_FLOAT, false, NULL, NULL},
    {"std", 6, TN_FIELD_FLOAT, false, NULL, NULL},
    {"sparse", 7, TN_FIELD_INT, false, NULL, NULL},
    {"variance_norm", 8, TN_FIELD_INT, false, NULL, "FAN_IN=0 FAN_OUT=1 AVERAGE=2"},
};
const tn_proto_type caffe_filler_type = {"FillerParameter", Filler_fields,
                                         sizeof Filler_fields / sizeof *Filler_fields};

static const tn_proto_field ArgMax_fields[] = {
    {"out_max_val", 1, TN_FIELD_INT, false, NULL, NULL},
    {"top_k", 2, TN_FIELD_INT, false, NULL, NULL},
    {"axis", 3, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(ArgMax, "ArgMaxParameter");

static const tn_proto_field BatchNorm_fields[] = {
    {"use_global_stats", 1, TN_FIELD_INT, false, NULL, NULL},
    {"moving_average_fraction", 2, TN_FIELD_SKIP, false, NULL, NULL},
    {"eps", 3, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(BatchNorm, "BatchNormParameter");

static const tn_proto_field Bias_fields[] = {
    {"axis", 1, TN_FIELD_INT, false, NULL, NULL},
    {"num_axes", 2, TN_FIELD_INT, false, NULL, NULL},
    {"filler", 3, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
};
TYPE(Bias, "BiasParameter");

static const tn_proto_field Concat_fields[] = {
    {"concat_dim", 1, TN_FIELD_INT, false, NULL, NULL},
    {"axis", 2, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(Concat, "ConcatParameter");

static const tn_proto_field Convolution_fields[] = {
    {"num_output", 1, TN_FIELD_INT, false, NULL, NULL},
    {"bias_term", 2, TN_FIELD_INT, false, NULL, NULL},
    {"pad", 3, TN_FIELD_INT, true, NULL, NULL},
    {"kernel_size", 4, TN_FIELD_INT, true, NULL, NULL},
    {"group", 5, TN_FIELD_INT, false, NULL, NULL},
    {"stride", 6, TN_FIELD_INT, true, NULL, NULL},
    {"weight_filler", 7, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
    {"bias_filler", 8, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
    {"pad_h", 9, TN_FIELD_INT, false, NULL, NULL},
    {"pad_w", 10, TN_FIELD_INT, false, NULL, NULL},
    {"kernel_h", 11, TN_FIELD_INT, false, NULL, NULL},
    {"kernel_w", 12, TN_FIELD_INT, false, NULL, NULL},
    {"stride_h", 13, TN_FIELD_INT, false, NULL, NULL},
    {"stride_w", 14, TN_FIELD_INT, false, NULL, NULL},
    {"engine", 15, TN_FIELD_SKIP, false, NULL, NULL},
    {"axis", 16, TN_FIELD_INT, false, NULL, NULL},
    {"force_nd_im2col", 17, TN_FIELD_SKIP, false, NULL, NULL},
    {"dilation", 18, TN_FIELD_INT, true, NULL, NULL},
};
TYPE(Convolution, "ConvolutionParameter");

static const tn_proto_field Crop_fields[] = {
    {"axis", 1, TN_FIELD_INT, false, NULL, NULL},
    {"offset", 2, TN_FIELD_INT, true, NULL, NULL},
};
TYPE(Crop, "CropParameter");

static const tn_proto_field Eltwise_fields[] = {
    {"operation", 1, TN_FIELD_INT, false, NULL, "PROD=0 SUM=1 MAX=2"},
    {"coeff", 2, TN_FIELD_FLOAT, true, NULL, NULL},
    {"stable_prod_grad", 3, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(Eltwise, "EltwiseParameter");

static const tn_proto_field ELU_fields[] = {
    {"alpha", 1, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(ELU, "ELUParameter");

static const tn_proto_field Embed_fields[] = {
    {"num_output", 1, TN_FIELD_INT, false, NULL, NULL},
    {"input_dim", 2, TN_FIELD_INT, false, NULL, NULL},
    {"bias_term", 3, TN_FIELD_INT, false, NULL, NULL},
    {"weight_filler", 4, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
    {"bias_filler", 5, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
};
TYPE(Embed, "EmbedParameter");

static const tn_proto_field Exp_fields[] = {
    {"base", 1, TN_FIELD_FLOAT, false, NULL, NULL},
    {"scale", 2, TN_FIELD_FLOAT, false, NULL, NULL},
    {"shift", 3, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(Exp, "ExpParameter");

static const tn_proto_field Flatten_fields[] = {
    {"axis", 1, TN_FIELD_INT, false, NULL, NULL},
    {"end_axis", 2, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(Flatten, "FlattenParameter");

static const tn_proto_field InnerProduct_fields[] = {
    {"num_output", 1, TN_FIELD_INT, false, NULL, NULL},
    {"bias_term", 2, TN_FIELD_INT, false, NULL, NULL},
    {"weight_filler", 3, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
    {"bias_filler", 4, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
    {"axis", 5, TN_FIELD_INT, false, NULL, NULL},
    {"transpose", 6, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(InnerProduct, "InnerProductParameter");

static const tn_proto_field Input_fields[] = {
    {"shape", 1, TN_FIELD_MESSAGE, true, &BlobShape, NULL},
};
TYPE(Input, "InputParameter");

static const tn_proto_field Log_fields[] = {
    {"base", 1, TN_FIELD_FLOAT, false, NULL, NULL},
    {"scale", 2, TN_FIELD_FLOAT, false, NULL, NULL},
    {"shift", 3, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(Log, "LogParameter");

static const tn_proto_field LRN_fields[] = {
    {"local_size", 1, TN_FIELD_INT, false, NULL, NULL},
    {"alpha", 2, TN_FIELD_FLOAT, false, NULL, NULL},
    {"beta", 3, TN_FIELD_FLOAT, false, NULL, NULL},
    {"norm_region", 4, TN_FIELD_INT, false, NULL, "ACROSS_CHANNELS=0 WITHIN_CHANNEL=1"},
    {"k", 5, TN_FIELD_FLOAT, false, NULL, NULL},
    {"engine", 6, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(LRN, "LRNParameter");

static const tn_proto_field MVN_fields[] = {
    {"normalize_variance", 1, TN_FIELD_INT, false, NULL, NULL},
    {"across_channels", 2, TN_FIELD_INT, false, NULL, NULL},
    {"eps", 3, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(MVN, "MVNParameter");

static const tn_proto_field Normalize_fields[] = {
    {"across_spatial", 1, TN_FIELD_INT, false, NULL, NULL},
    {"scale_filler", 2, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
    {"channel_shared", 3, TN_FIELD_INT, false, NULL, NULL},
    {"eps", 4, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(Normalize, "NormalizeParameter");

static const tn_proto_field Permute_fields[] = {
    {"order", 1, TN_FIELD_INT, true, NULL, NULL},
};
TYPE(Permute, "PermuteParameter");

/* Layers of the forks that detectors and mobile networks were trained with. */
static const tn_proto_field ShuffleChannel_fields[] = {
    {"group", 1, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(ShuffleChannel, "ShuffleChannelParameter");

static const tn_proto_field Upsample_fields[] = {
    {"scale", 1, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(Upsample, "UpsampleParameter");

static const tn_proto_field PriorBox_fields[] = {
    {"min_size", 1, TN_FIELD_FLOAT, true, NULL, NULL},
    {"max_size", 2, TN_FIELD_FLOAT, true, NULL, NULL},
    {"aspect_ratio", 3, TN_FIELD_FLOAT, true, NULL, NULL},
    {"flip", 4, TN_FIELD_INT, false, NULL, NULL},
    {"clip", 5, TN_FIELD_INT, false, NULL, NULL},
    {"variance", 6, TN_FIELD_FLOAT, true, NULL, NULL},
    {"img_size", 7, TN_FIELD_INT, false, NULL, NULL},
    {"img_h", 8, TN_FIELD_INT, false, NULL, NULL},
    {"img_w", 9, TN_FIELD_INT, false, NULL, NULL},
    {"step", 10, TN_FIELD_FLOAT, false, NULL, NULL},
    {"step_h", 11, TN_FIELD_FLOAT, false, NULL, NULL},
    {"step_w", 12, TN_FIELD_FLOAT, false, NULL, NULL},
    {"offset", 13, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(PriorBox, "PriorBoxParameter");

static const tn_proto_field NonMaximumSuppression_fields[] = {
    {"nms_threshold", 1, TN_FIELD_FLOAT, false, NULL, NULL},
    {"top_k", 2, TN_FIELD_INT, false, NULL, NULL},
    {"eta", 3, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(NonMaximumSuppression, "NonMaximumSuppressionParameter");

static const tn_proto_field DetectionOutput_fields[] = {
    {"num_classes", 1, TN_FIELD_INT, false, NULL, NULL},
    {"share_location", 2, TN_FIELD_INT, false, NULL, NULL},
    {"background_label_id", 3, TN_FIELD_INT, false, NULL, NULL},
    {"nms_param", 4, TN_FIELD_MESSAGE, false, &NonMaximumSuppression, NULL},
    {"save_output_param", 5, TN_FIELD_SKIP, false, NULL, NULL},
    {"code_type", 6, TN_FIELD_INT, false, NULL, "CORNER=1 CENTER_SIZE=2 CORNER_SIZE=3"},
    {"variance_encoded_in_target", 8, TN_FIELD_INT, false, NULL, NULL},
    {"keep_top_k", 7, TN_FIELD_INT, false, NULL, NULL},
    {"confidence_threshold", 9, TN_FIELD_FLOAT, false, NULL, NULL},
    {"visualize", 10, TN_FIELD_SKIP, false, NULL, NULL},
    {"visualize_threshold", 11, TN_FIELD_SKIP, false, NULL, NULL},
    {"save_file", 12, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(DetectionOutput, "DetectionOutputParameter");

static const tn_proto_field Pooling_fields[] = {
    {"pool", 1, TN_FIELD_INT, false, NULL, "MAX=0 AVE=1 STOCHASTIC=2"},
    {"kernel_size", 2, TN_FIELD_INT, false, NULL, NULL},
    {"stride", 3, TN_FIELD_INT, false, NULL, NULL},
    {"pad", 4, TN_FIELD_INT, false, NULL, NULL},
    {"kernel_h", 5, TN_FIELD_INT, false, NULL, NULL},
    {"kernel_w", 6, TN_FIELD_INT, false, NULL, NULL},
    {"stride_h", 7, TN_FIELD_INT, false, NULL, NULL},
    {"stride_w", 8, TN_FIELD_INT, false, NULL, NULL},
    {"pad_h", 9, TN_FIELD_INT, false, NULL, NULL},
    {"pad_w", 10, TN_FIELD_INT, false, NULL, NULL},
    {"engine", 11, TN_FIELD_SKIP, false, NULL, NULL},
    {"global_pooling", 12, TN_FIELD_INT, false, NULL, NULL},
    {"round_mode", 13, TN_FIELD_INT, false, NULL, "CEIL=0 FLOOR=1"},
};
TYPE(Pooling, "PoolingParameter");

static const tn_proto_field Power_fields[] = {
    {"power", 1, TN_FIELD_FLOAT, false, NULL, NULL},
    {"scale", 2, TN_FIELD_FLOAT, false, NULL, NULL},
    {"shift", 3, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(Power, "PowerParameter");

static const tn_proto_field PReLU_fields[] = {
    {"filler", 1, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
    {"channel_shared", 2, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(PReLU, "PReLUParameter");

static const tn_proto_field Reduction_fields[] = {
    {"operation", 1, TN_FIELD_INT, false, NULL, "SUM=1 ASUM=2 SUMSQ=3 MEAN=4"},
    {"axis", 2, TN_FIELD_INT, false, NULL, NULL},
    {"coeff", 3, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(Reduction, "ReductionParameter");

static const tn_proto_field ReLU_fields[] = {
    {"negative_slope", 1, TN_FIELD_FLOAT, false, NULL, NULL},
    {"engine", 2, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(ReLU, "ReLUParameter");

static const tn_proto_field Reshape_fields[] = {
    {"shape", 1, TN_FIELD_MESSAGE, false, &BlobShape, NULL},
    {"axis", 2, TN_FIELD_INT, false, NULL, NULL},
    {"num_axes", 3, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(Reshape, "ReshapeParameter");

static const tn_proto_field Scale_fields[] = {
    {"axis", 1, TN_FIELD_INT, false, NULL, NULL},
    {"num_axes", 2, TN_FIELD_INT, false, NULL, NULL},
    {"filler", 3, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
    {"bias_term", 4, TN_FIELD_INT, false, NULL, NULL},
    {"bias_filler", 5, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
};
TYPE(Scale, "ScaleParameter");

static const tn_proto_field Slice_fields[] = {
    {"slice_dim", 1, TN_FIELD_INT, false, NULL, NULL},
    {"slice_point", 2, TN_FIELD_INT, true, NULL, NULL},
    {"axis", 3, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(Slice, "SliceParameter");

static const tn_proto_field Softmax_fields[] = {
    {"engine", 1, TN_FIELD_SKIP, false, NULL, NULL},
    {"axis", 2, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(Softmax, "SoftmaxParameter");

static const tn_proto_field Threshold_fields[] = {
    {"threshold", 1, TN_FIELD_FLOAT, false, NULL, NULL},
};
TYPE(Threshold, "ThresholdParameter");

static const tn_proto_field Tile_fields[] = {
    {"axis", 1, TN_FIELD_INT, false, NULL, NULL},
    {"tiles", 2, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(Tile, "TileParameter");

static const tn_proto_field Layer_fields[] = {
    {"name", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"type", 2, TN_FIELD_TEXT, false, NULL, NULL},
    {"bottom", 3, TN_FIELD_TEXT, true, NULL, NULL},
    {"top", 4, TN_FIELD_TEXT, true, NULL, NULL},
    {"loss_weight", 5, TN_FIELD_SKIP, false, NULL, NULL},
    {"param", 6, TN_FIELD_SKIP, false, NULL, NULL},
    {"blobs", 7, TN_FIELD_MESSAGE, true, &BlobProto, NULL},
    {"include", 8, TN_FIELD_MESSAGE, true, &NetStateRule, NULL},
    {"exclude", 9, TN_FIELD_MESSAGE, true, &NetStateRule, NULL},
    {"phase", 10, TN_FIELD_INT, false, NULL, "TRAIN=0 TEST=1"},
    {"propagate_down", 11, TN_FIELD_SKIP, false, NULL, NULL},
    {"transform_param", 100, TN_FIELD_SKIP, false, NULL, NULL},
    {"loss_param", 101, TN_FIELD_SKIP, false, NULL, NULL},
    {"accuracy_param", 102, TN_FIELD_SKIP, false, NULL, NULL},
    {"argmax_param", 103, TN_FIELD_MESSAGE, false, &ArgMax, NULL},
    {"batch_norm_param", 139, TN_FIELD_MESSAGE, false, &BatchNorm, NULL},
    {"bias_param", 141, TN_FIELD_MESSAGE, false, &Bias, NULL},
    {"concat_param", 104, TN_FIELD_MESSAGE, false, &Concat, NULL},
    {"contrastive_loss_param", 105, TN_FIELD_SKIP, false, NULL, NULL},
    {"convolution_param", 106, TN_FIELD_MESSAGE, false, &Convolution, NULL},
    {"crop_param", 144, TN_FIELD_MESSAGE, false, &Crop, NULL},
    {"data_param", 107, TN_FIELD_SKIP, false, NULL, NULL},
    {"dropout_param", 108, TN_FIELD_SKIP, false, NULL, NULL},
    {"dummy_data_param", 109, TN_FIELD_SKIP, false, NULL, NULL},
    {"eltwise_param", 110, TN_FIELD_MESSAGE, false, &Eltwise, NULL},
    {"elu_param", 140, TN_FIELD_MESSAGE, false, &ELU, NULL},
    {"embed_param", 137, TN_FIELD_MESSAGE, false, &Embed, NULL},
    {"exp_param", 111, TN_FIELD_MESSAGE, false, &Exp, NULL},
    {"flatten_param", 135, TN_FIELD_MESSAGE, false, &Flatten, NULL},
    {"hdf5_data_param", 112, TN_FIELD_SKIP, false, NULL, NULL},
    {"hdf5_output_param", 113, TN_FIELD_SKIP, false, NULL, NULL},
    {"hinge_loss_param", 114, TN_FIELD_SKIP, false, NULL, NULL},
    {"image_data_param", 115, TN_FIELD_SKIP, false, NULL, NULL},
    {"infogain_loss_param", 116, TN_FIELD_SKIP, false, NULL, NULL},
    {"inner_product_param", 117, TN_FIELD_MESSAGE, false, &InnerProduct, NULL},
    {"input_param", 143, TN_FIELD_MESSAGE, false, &Input, NULL},
    {"log_param", 134, TN_FIELD_MESSAGE, false, &Log, NULL},
    {"lrn_param", 118, TN_FIELD_MESSAGE, false, &LRN, NULL},
    {"memory_data_param", 119, TN_FIELD_SKIP, false, NULL, NULL},
    {"mvn_param", 120, TN_FIELD_MESSAGE, false, &MVN, NULL},
    {"norm_param", 206, TN_FIELD_MESSAGE, false, &Normalize, NULL},
    {"parameter_param", 145, TN_FIELD_SKIP, false, NULL, NULL},
    {"permute_param", 202, TN_FIELD_MESSAGE, false, &Permute, NULL},
    {"pooling_param", 121, TN_FIELD_MESSAGE, false, &Pooling, NULL},
    {"power_param", 122, TN_FIELD_MESSAGE, false, &Power, NULL},
    {"prelu_param", 131, TN_FIELD_MESSAGE, false, &PReLU, NULL},
    {"prior_box_param", 203, TN_FIELD_MESSAGE, false, &PriorBox, NULL},
    {"detection_output_param", 204, TN_FIELD_MESSAGE, false, &DetectionOutput, NULL},
    {"python_param", 130, TN_FIELD_SKIP, false, NULL, NULL},
    {"recurrent_param", 146, TN_FIELD_SKIP, false, NULL, NULL},
    {"reduction_param", 136, TN_FIELD_MESSAGE, false, &Reduction, NULL},
    {"relu_param", 123, TN_FIELD_MESSAGE, false, &ReLU, NULL},
    {"reshape_param", 133, TN_FIELD_MESSAGE, false, &Reshape, NULL},
    {"scale_param", 142, TN_FIELD_MESSAGE, false, &Scale, NULL},
    {"shuffle_channel_param", 164, TN_FIELD_MESSAGE, false, &ShuffleChannel, NULL},
    {"sigmoid_param", 124, TN_FIELD_SKIP, false, NULL, NULL},
    {"softmax_param", 125, TN_FIELD_MESSAGE, false, &Softmax, NULL},
    {"spp_param", 132, TN_FIELD_SKIP, false, NULL, NULL},
    {"slice_param", 126, TN_FIELD_MESSAGE, false, &Slice, NULL},
    {"tanh_param", 127, TN_FIELD_SKIP, false, NULL, NULL},
    {"threshold_param", 128, TN_FIELD_MESSAGE, false, &Threshold, NULL},
    {"tile_param", 138, TN_FIELD_MESSAGE, false, &Tile, NULL},
    {"upsample_param", 149, TN_FIELD_MESSAGE, false, &Upsample, NULL},
    {"window_data_param", 129, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(Layer, "LayerParameter");

static const tn_proto_field V0Layer_fields[] = {
    {"name", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"type", 2, TN_FIELD_TEXT, false, NULL, NULL},
    {"num_output", 3, TN_FIELD_INT, false, NULL, NULL},
    {"biasterm", 4, TN_FIELD_INT, false, NULL, NULL},
    {"weight_filler", 5, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
    {"bias_filler", 6, TN_FIELD_MESSAGE, false, &caffe_filler_type, NULL},
    {"pad", 7, TN_FIELD_INT, false, NULL, NULL},
    {"kernelsize", 8, TN_FIELD_INT, false, NULL, NULL},
    {"group", 9, TN_FIELD_INT, false, NULL, NULL},
    {"stride", 10, TN_FIELD_INT, false, NULL, NULL},
    {"pool", 11, TN_FIELD_INT, false, NULL, "MAX=0 AVE=1 STOCHASTIC=2"},
    {"dropout_ratio", 12, TN_FIELD_SKIP, false, NULL, NULL},
    {"local_size", 13, TN_FIELD_INT, false, NULL, NULL},
    {"alpha", 14, TN_FIELD_FLOAT, false, NULL, NULL},
    {"beta", 15, TN_FIELD_FLOAT, false, NULL, NULL},
    {"source", 16, TN_FIELD_SKIP, false, NULL, NULL},
    {"scale", 17, TN_FIELD_SKIP, false, NULL, NULL},
    {"meanfile", 18, TN_FIELD_SKIP, false, NULL, NULL},
    {"batchsize", 19, TN_FIELD_SKIP, false, NULL, NULL},
    {"cropsize", 20, TN_FIELD_SKIP, false, NULL, NULL},
    {"mirror", 21, TN_FIELD_SKIP, false, NULL, NULL},
    {"k", 22, TN_FIELD_FLOAT, false, NULL, NULL},
    {"blobs", 50, TN_FIELD_MESSAGE, true, &BlobProto, NULL},
    {"blobs_lr", 51, TN_FIELD_SKIP, false, NULL, NULL},
    {"weight_decay", 52, TN_FIELD_SKIP, false, NULL, NULL},
    {"rand_skip", 53, TN_FIELD_SKIP, false, NULL, NULL},
    {"det_fg_threshold", 54, TN_FIELD_SKIP, false, NULL, NULL},
    {"det_bg_threshold", 55, TN_FIELD_SKIP, false, NULL, NULL},
    {"det_fg_fraction", 56, TN_FIELD_SKIP, false, NULL, NULL},
    {"det_context_pad", 58, TN_FIELD_SKIP, false, NULL, NULL},
    {"det_crop_mode", 59, TN_FIELD_SKIP, false, NULL, NULL},
    {"new_num", 60, TN_FIELD_SKIP, false, NULL, NULL},
    {"new_channels", 61, TN_FIELD_SKIP, false, NULL, NULL},
    {"new_height", 62, TN_FIELD_SKIP, false, NULL, NULL},
    {"new_width", 63, TN_FIELD_SKIP, false, NULL, NULL},
    {"shuffle_images", 64, TN_FIELD_SKIP, false, NULL, NULL},
    {"concat_dim", 65, TN_FIELD_INT, false, NULL, NULL},
    {"hdf5_output_param", 1001, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(V0Layer, "V0LayerParameter");

static const tn_proto_field V1Layer_fields[] = {
    {"layer", 1, TN_FIELD_MESSAGE, false, &V0Layer, NULL},
    {"bottom", 2, TN_FIELD_TEXT, true, NULL, NULL},
    {"top", 3, TN_FIELD_TEXT, true, NULL, NULL},
    {"name", 4, TN_FIELD_TEXT, false, NULL, NULL},
    {"type", 5, TN_FIELD_INT, false, NULL,
     "NONE=0 ACCURACY=1 BNLL=2 CONCAT=3 CONVOLUTION=4 DATA=5 DROPOUT=6 EUCLIDEAN_LOSS=7 FLATTEN=8 "
     "HDF5_DATA=9 HDF5_OUTPUT=10 IM2COL=11 IMAGE_DATA=12 INFOGAIN_LOSS=13 INNER_PRODUCT=14 LRN=15 "
     "MULTINOMIAL_LOGISTIC_LOSS=16 POOLING=17 RELU=18 SIGMOID=19 SOFTMAX=20 SOFTMAX_LOSS=21 "
     "SPLIT=22 TANH=23 WINDOW_DATA=24 ELTWISE=25 POWER=26 SIGMOID_CROSS_ENTROPY_LOSS=27 "
     "HINGE_LOSS=28 MEMORY_DATA=29 ARGMAX=30 THRESHOLD=31 DUMMY_DATA=32 SLICE=33 MVN=34 ABSVAL=35 "
     "SILENCE=36 CONTRASTIVE_LOSS=37 EXP=38 DECONVOLUTION=39"},
    {"blobs", 6, TN_FIELD_MESSAGE, true, &BlobProto, NULL},
    {"blobs_lr", 7, TN_FIELD_SKIP, false, NULL, NULL},
    {"weight_decay", 8, TN_FIELD_SKIP, false, NULL, NULL},
    {"include", 32, TN_FIELD_MESSAGE, true, &NetStateRule, NULL},
    {"exclude", 33, TN_FIELD_MESSAGE, true, &NetStateRule, NULL},
    {"loss_weight", 35, TN_FIELD_SKIP, false, NULL, NULL},
    {"param", 1001, TN_FIELD_SKIP, false, NULL, NULL},
    {"blob_share_mode", 1002, TN_FIELD_SKIP, false, NULL, NULL},
    {"accuracy_param", 27, TN_FIELD_SKIP, false, NULL, NULL},
    {"argmax_param", 23, TN_FIELD_MESSAGE, false, &ArgMax, NULL},
    {"concat_param", 9, TN_FIELD_MESSAGE, false, &Concat, NULL},
    {"contrastive_loss_param", 40, TN_FIELD_SKIP, false, NULL, NULL},
    {"convolution_param", 10, TN_FIELD_MESSAGE, false, &Convolution, NULL},
    {"data_param", 11, TN_FIELD_SKIP, false, NULL, NULL},
    {"dropout_param", 12, TN_FIELD_SKIP, false, NULL, NULL},
    {"dummy_data_param", 26, TN_FIELD_SKIP, false, NULL, NULL},
    {"eltwise_param", 24, TN_FIELD_MESSAGE, false, &Eltwise, NULL},
    {"exp_param", 41, TN_FIELD_MESSAGE, false, &Exp, NULL},
    {"hdf5_data_param", 13, TN_FIELD_SKIP, false, NULL, NULL},
    {"hdf5_output_param", 14, TN_FIELD_SKIP, false, NULL, NULL},
    {"hinge_loss_param", 29, TN_FIELD_SKIP, false, NULL, NULL},
    {"image_data_param", 15, TN_FIELD_SKIP, false, NULL, NULL},
    {"infogain_loss_param", 16, TN_FIELD_SKIP, false, NULL, NULL},
    {"inner_product_param", 17, TN_FIELD_MESSAGE, false, &InnerProduct, NULL},
    {"lrn_param", 18, TN_FIELD_MESSAGE, false, &LRN, NULL},
    {"memory_data_param", 22, TN_FIELD_SKIP, false, NULL, NULL},
    {"mvn_param", 34, TN_FIELD_MESSAGE, false, &MVN, NULL},
    {"pooling_param", 19, TN_FIELD_MESSAGE, false, &Pooling, NULL},
    {"power_param", 21, TN_FIELD_MESSAGE, false, &Power, NULL},
    {"relu_param", 30, TN_FIELD_MESSAGE, false, &ReLU, NULL},
    {"sigmoid_param", 38, TN_FIELD_SKIP, false, NULL, NULL},
    {"softmax_param", 39, TN_FIELD_MESSAGE, false, &Softmax, NULL},
    {"slice_param", 31, TN_FIELD_MESSAGE, false, &Slice, NULL},
    {"tanh_param", 37, TN_FIELD_SKIP, false, NULL, NULL},
    {"threshold_param", 25, TN_FIELD_MESSAGE, false, &Threshold, NULL},
    {"window_data_param", 20, TN_FIELD_SKIP, false, NULL, NULL},
    {"transform_param", 36, TN_FIELD_SKIP, false, NULL, NULL},
    {"loss_param", 42, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(V1Layer, "V1LayerParameter");

static const tn_proto_field Net_fields[] = {
    {"name", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"layers", 2, TN_FIELD_MESSAGE, true, &V1Layer, NULL},
    {"input", 3, TN_FIELD_TEXT, true, NULL, NULL},
    {"input_dim", 4, TN_FIELD_INT, true, NULL, NULL},
    {"force_backward", 5, TN_FIELD_SKIP, false, NULL, NULL},
    {"state", 6, TN_FIELD_SKIP, false, NULL, NULL},
    {"debug_info", 7, TN_FIELD_SKIP, false, NULL, NULL},
    {"input_shape", 8, TN_FIELD_MESSAGE, true, &BlobShape, NULL},
    {"layer", 100, TN_FIELD_MESSAGE, true, &Layer, NULL},
};

const tn_proto_type caffe_net_type = {"NetParameter", Net_fields,
                                      sizeof Net_fields / sizeof *Net_fields};
