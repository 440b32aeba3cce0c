/* graph.proto, function.proto, saved_model.proto, meta_graph.proto and tensor_bundle.proto as
 * far as a model that is run needs them: names and numbers of fields. */
#include "schema.h"

#define TYPE(symbol, text)                                    \
  static const tn_proto_type symbol = {text, symbol##_fields, \
                                       sizeof symbol##_fields / sizeof *symbol##_fields}

static const char types[] =
    "DT_INVALID=0 DT_FLOAT=1 DT_DOUBLE=2 DT_INT32=3 DT_UINT8=4 DT_INT16=5 DT_INT8=6 "
    "DT_STRING=7 DT_COMPLEX64=8 DT_INT64=9 DT_BOOL=10 DT_QINT8=11 DT_QUINT8=12 "
    "DT_QINT32=13 DT_BFLOAT16=14 DT_QINT16=15 DT_QUINT16=16 DT_UINT16=17 DT_COMPLEX128=18 "
    "DT_HALF=19 DT_RESOURCE=20 DT_VARIANT=21 DT_UINT32=22 DT_UINT64=23 DT_FLOAT8_E5M2=24 "
    "DT_FLOAT8_E4M3FN=25 DT_INT4=29 DT_UINT4=30 DT_FLOAT_REF=101 DT_DOUBLE_REF=102 "
    "DT_INT32_REF=103 DT_STRING_REF=107 DT_INT64_REF=109 DT_BOOL_REF=110";

static const tn_proto_field Dim_fields[] = {
    {"size", 1, TN_FIELD_INT, false, NULL, NULL},
    {"name", 2, TN_FIELD_TEXT, false, NULL, NULL},
};
TYPE(Dim, "TensorShapeProto.Dim");

static const tn_proto_field Shape_fields[] = {
    {"dim", 2, TN_FIELD_MESSAGE, true, &Dim, NULL},
    {"unknown_rank", 3, TN_FIELD_INT, false, NULL, NULL},
};
TYPE(Shape, "TensorShapeProto");

static const tn_proto_field Tensor_fields[] = {
    {"dtype", 1, TN_FIELD_INT, false, NULL, types},
    {"tensor_shape", 2, TN_FIELD_MESSAGE, false, &Shape, NULL},
    {"version_number", 3, TN_FIELD_SKIP, false, NULL, NULL},
    {"tensor_content", 4, TN_FIELD_BYTES, false, NULL, NULL},
    {"float_val", 5, TN_FIELD_FLOATS, true, NULL, NULL},
    {"double_val", 6, TN_FIELD_DOUBLES, true, NULL, NULL},
    {"int_val", 7, TN_FIELD_INTS, true, NULL, NULL},
    {"string_val", 8, TN_FIELD_BYTES, true, NULL, NULL},
    {"scomplex_val", 9, TN_FIELD_FLOATS, true, NULL, NULL},
    {"int64_val", 10, TN_FIELD_INTS, true, NULL, NULL},
    {"bool_val", 11, TN_FIELD_INTS, true, NULL, NULL},
    {"dcomplex_val", 12, TN_FIELD_DOUBLES, true, NULL, NULL},
    {"half_val", 13, TN_FIELD_INTS, true, NULL, NULL},
    {"resource_handle_val", 14, TN_FIELD_SKIP, true, NULL, NULL},
    {"variant_val", 15, TN_FIELD_SKIP, true, NULL, NULL},
    {"uint32_val", 16, TN_FIELD_INTS, true, NULL, NULL},
    {"uint64_val", 17, TN_FIELD_INTS, true, NULL, NULL},
    {"float8_val", 18, TN_FIELD_BYTES, false, NULL, NULL},
};
TYPE(Tensor, "TensorProto");

static const tn_proto_field Func_fields[] = {
    {"name", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"attr", 2, TN_FIELD_SKIP, true, NULL, NULL},
};
TYPE(Func, "NameAttrList");

static const tn_proto_field List_fields[] = {
    {"s", 2, TN_FIELD_BYTES, true, NULL, NULL},
    {"i", 3, TN_FIELD_INT, true, NULL, NULL},
    {"f", 4, TN_FIELD_FLOAT, true, NULL, NULL},
    {"b", 5, TN_FIELD_INT, true, NULL, NULL},
    {"type", 6, TN_FIELD_INT, true, NULL, types},
    {"shape", 7, TN_FIELD_MESSAGE, true, &Shape, NULL},
    {"tensor", 8, TN_FIELD_MESSAGE, true, &Tensor, NULL},
    {"func", 9, TN_FIELD_MESSAGE, true, &Func, NULL},
};
TYPE(List, "AttrValue.ListValue");

static const tn_proto_field Attr_fields[] = {
    {"list", 1, TN_FIELD_MESSAGE, false, &List, NULL},
    {"s", 2, TN_FIELD_BYTES, false, NULL, NULL},
    {"i", 3, TN_FIELD_INT, false, NULL, NULL},
    {"f", 4, TN_FIELD_FLOAT, false, NULL, NULL},
    {"b", 5, TN_FIELD_INT, false, NULL, NULL},
    {"type", 6, TN_FIELD_INT, false, NULL, types},
    {"shape", 7, TN_FIELD_MESSAGE, false, &Shape, NULL},
    {"tensor", 8, TN_FIELD_MESSAGE, false, &Tensor, NULL},
    {"placeholder", 9, TN_FIELD_TEXT, false, NULL, NULL},
    {"func", 10, TN_FIELD_MESSAGE, false, &Func, NULL},
};
TYPE(Attr, "AttrValue");

static const tn_proto_field AttrEntry_fields[] = {
    {"key", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"value", 2, TN_FIELD_MESSAGE, false, &Attr, NULL},
};
TYPE(AttrEntry, "NodeDef.AttrEntry");

static const tn_proto_field Node_fields[] = {
    {"name", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"op", 2, TN_FIELD_TEXT, false, NULL, NULL},
    {"input", 3, TN_FIELD_TEXT, true, NULL, NULL},
    {"device", 4, TN_FIELD_SKIP, false, NULL, NULL},
    {"attr", 5, TN_FIELD_MESSAGE, true, &AttrEntry, NULL},
    {"experimental_debug_info", 6, TN_FIELD_SKIP, false, NULL, NULL},
    {"experimental_type", 7, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(Node, "NodeDef");

static const tn_proto_field Arg_fields[] = {
    {"name", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"description", 2, TN_FIELD_SKIP, false, NULL, NULL},
    {"type", 3, TN_FIELD_INT, false, NULL, types},
    {"type_attr", 4, TN_FIELD_TEXT, false, NULL, NULL},
    {"number_attr", 5, TN_FIELD_TEXT, false, NULL, NULL},
    {"type_list_attr", 6, TN_FIELD_TEXT, false, NULL, NULL},
    {"handle_data", 17, TN_FIELD_SKIP, true, NULL, NULL},
    {"is_ref", 16, TN_FIELD_INT, false, NULL, NULL},
    {"experimental_full_type", 18, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(Arg, "OpDef.ArgDef");

static const tn_proto_field Op_fields[] = {
    {"name", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"input_arg", 2, TN_FIELD_MESSAGE, true, &Arg, NULL},
    {"output_arg", 3, TN_FIELD_MESSAGE, true, &Arg, NULL},
    {"attr", 4, TN_FIELD_SKIP, true, NULL, NULL},
    {"summary", 5, TN_FIELD_SKIP, false, NULL, NULL},
    {"description", 6, TN_FIELD_SKIP, false, NULL, NULL},
    {"deprecation", 8, TN_FIELD_SKIP, false, NULL, NULL},
    {"is_aggregate", 16, TN_FIELD_SKIP, false, NULL, NULL},
    {"is_stateful", 17, TN_FIELD_SKIP, false, NULL, NULL},
    {"is_commutative", 18, TN_FIELD_SKIP, false, NULL, NULL},
    {"allows_uninitialized_input", 19, TN_FIELD_SKIP, false, NULL, NULL},
    {"control_output", 20, TN_FIELD_SKIP, true, NULL, NULL},
    {"is_distributed_communication", 21, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(Op, "OpDef");

static const tn_proto_field TextEntry_fields[] = {
    {"key", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"value", 2, TN_FIELD_TEXT, false, NULL, NULL},
};
TYPE(TextEntry, "a pair of texts");

static const tn_proto_field Function_fields[] = {
    {"signature", 1, TN_FIELD_MESSAGE, false, &Op, NULL},
    {"node_def", 3, TN_FIELD_MESSAGE, true, &Node, NULL},
    {"ret", 4, TN_FIELD_MESSAGE, true, &TextEntry, NULL},
    {"attr", 5, TN_FIELD_MESSAGE, true, &AttrEntry, NULL},
    {"control_ret", 6, TN_FIELD_MESSAGE, true, &TextEntry, NULL},
    {"arg_attr", 7, TN_FIELD_SKIP, true, NULL, NULL},
    {"resource_arg_unique_id", 8, TN_FIELD_SKIP, true, NULL, NULL},
};
TYPE(Function, "FunctionDef");

static const tn_proto_field Library_fields[] = {
    {"function", 1, TN_FIELD_MESSAGE, true, &Function, NULL},
    {"gradient", 2, TN_FIELD_SKIP, true, NULL, NULL},
    {"registered_gradients", 3, TN_FIELD_SKIP, true, NULL, NULL},
};
TYPE(Library, "FunctionDefLibrary");

static const tn_proto_field Versions_fields[] = {
    {"producer", 1, TN_FIELD_INT, false, NULL, NULL},
    {"min_consumer", 2, TN_FIELD_SKIP, false, NULL, NULL},
    {"bad_consumers", 3, TN_FIELD_SKIP, true, NULL, NULL},
};
TYPE(Versions, "VersionDef");

static const tn_proto_field Graph_fields[] = {
    {"node", 1, TN_FIELD_MESSAGE, true, &Node, NULL},
    {"library", 2, TN_FIELD_MESSAGE, false, &Library, NULL},
    {"version", 3, TN_FIELD_SKIP, false, NULL, NULL},
    {"versions", 4, TN_FIELD_MESSAGE, false, &Versions, NULL},
    {"debug_info", 5, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(Graph, "GraphDef");

static const tn_proto_field TensorInfo_fields[] = {
    {"name", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"dtype", 2, TN_FIELD_INT, false, NULL, types},
    {"tensor_shape", 3, TN_FIELD_MESSAGE, false, &Shape, NULL},
    {"coo_sparse", 4, TN_FIELD_SKIP, false, NULL, NULL},
    {"composite_tensor", 5, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(TensorInfo, "TensorInfo");

static const tn_proto_field InfoEntry_fields[] = {
    {"key", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"value", 2, TN_FIELD_MESSAGE, false, &TensorInfo, NULL},
};
TYPE(InfoEntry, "SignatureDef.Entry");

static const tn_proto_field Signature_fields[] = {
    {"inputs", 1, TN_FIELD_MESSAGE, true, &InfoEntry, NULL},
    {"outputs", 2, TN_FIELD_MESSAGE, true, &InfoEntry, NULL},
    {"method_name", 3, TN_FIELD_TEXT, false, NULL, NULL},
    {"defaults", 4, TN_FIELD_SKIP, true, NULL, NULL},
};
TYPE(Signature, "SignatureDef");

static const tn_proto_field SignatureEntry_fields[] = {
    {"key", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"value", 2, TN_FIELD_MESSAGE, false, &Signature, NULL},
};
TYPE(SignatureEntry, "MetaGraphDef.SignatureDefEntry");

static const tn_proto_field Saver_fields[] = {
    {"filename_tensor_name", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"save_tensor_name", 2, TN_FIELD_TEXT, false, NULL, NULL},
    {"restore_op_name", 3, TN_FIELD_TEXT, false, NULL, NULL},
    {"max_to_keep", 4, TN_FIELD_SKIP, false, NULL, NULL},
    {"sharded", 5, TN_FIELD_SKIP, false, NULL, NULL},
    {"keep_checkpoint_every_n_hours", 6, TN_FIELD_SKIP, false, NULL, NULL},
    {"version", 7, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(Saver, "SaverDef");

static const tn_proto_field MetaInfo_fields[] = {
    {"meta_graph_version", 1, TN_FIELD_TEXT, false, NULL, NULL},
    {"stripped_op_list", 2, TN_FIELD_SKIP, false, NULL, NULL},
    {"any_info", 3, TN_FIELD_SKIP, false, NULL, NULL},
    {"tags", 4, TN_FIELD_TEXT, true, NULL, NULL},
    {"tensorflow_version", 5, TN_FIELD_TEXT, false, NULL, NULL},
    {"tensorflow_git_version", 6, TN_FIELD_TEXT, false, NULL, NULL},
    {"stripped_default_attrs", 7, TN_FIELD_SKIP, false, NULL, NULL},
    {"function_aliases", 8, TN_FIELD_SKIP, true, NULL, NULL},
};
TYPE(MetaInfo, "MetaInfoDef");

static const tn_proto_field Asset_fields[] = {
    {"tensor_info", 1, TN_FIELD_MESSAGE, false, &TensorInfo, NULL},
    {"filename", 2, TN_FIELD_TEXT, false, NULL, NULL},
};
TYPE(Asset, "AssetFileDef");

static const tn_proto_field MetaGraph_fields[] = {
    {"meta_info_def", 1, TN_FIELD_MESSAGE, false, &MetaInfo, NULL},
    {"graph_def", 2, TN_FIELD_MESSAGE, false, &Graph, NULL},
    {"saver_def", 3, TN_FIELD_MESSAGE, false, &Saver, NULL},
    {"collection_def", 4, TN_FIELD_SKIP, true, NULL, NULL},
    {"signature_def", 5, TN_FIELD_MESSAGE, true, &SignatureEntry, NULL},
    {"asset_file_def", 6, TN_FIELD_MESSAGE, true, &Asset, NULL},
    {"object_graph_def", 7, TN_FIELD_SKIP, false, NULL, NULL},
};
TYPE(MetaGraph, "MetaGraphDef");

static const tn_proto_field SavedModel_fields[] = {
    {"saved_model_schema_version", 1, TN_FIELD_INT, false, NULL, NULL},
    {"meta_graphs", 2, TN_FIELD_MESSAGE, true, &MetaGraph, NULL},
};

static const tn_proto_field BundleHeader_fields[] = {
    {"num_shards", 1, TN_FIELD_INT, false, NULL, NULL},
    {"endianness", 2, TN_FIELD_INT, false, NULL, NULL},
    {"version", 3, TN_FIELD_SKIP, false, NULL, NULL},
};

static const tn_proto_field BundleEntry_fields[] = {
    {"dtype", 1, TN_FIELD_INT, false, NULL, types},
    {"shape", 2, TN_FIELD_MESSAGE, false, &Shape, NULL},
    {"shard_id", 3, TN_FIELD_INT, false, NULL, NULL},
    {"offset", 4, TN_FIELD_INT, false, NULL, NULL},
    {"size", 5, TN_FIELD_INT, false, NULL, NULL},
    {"crc32c", 6, TN_FIELD_SKIP, false, NULL, NULL},
    {"slices", 7, TN_FIELD_MESSAGE, true, &Shape, NULL},
};

const tn_proto_type tensorflow_graph_type = {"GraphDef", Graph_fields,
                                             sizeof Graph_fields / sizeof *Graph_fields};
const tn_proto_type tensorflow_saved_model_type = {
    "SavedModel", SavedModel_fields, sizeof SavedModel_fields / sizeof *SavedModel_fields};
const tn_proto_type tensorflow_bundle_header_type = {
    "BundleHeaderProto", BundleHeader_fields,
    sizeof BundleHeader_fields / sizeof *BundleHeader_fields};
const tn_proto_type tensorflow_bundle_entry_type = {
    "BundleEntryProto", BundleEntry_fields, sizeof BundleEntry_fields / sizeof *BundleEntry_fields};
