#!/usr/bin/env python3
"""Exports models of torchvision, transformers and timm with random weights, and small programs (programs/), by torch.export, or as TorchScript, runs them
with Tenon, and compares the outputs with PyTorch's. Prints a table.

usage: models.py TENON [--as export|trace|script] [--only WORD]... [--keep DIR]
           [--families] [--part vision|language|newer|timm|programs] [--decomposed]
(needs torch, torchvision, transformers, timm)
"""

import argparse
import copy
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import torch.utils._pytree as pytree

LIMIT_S, MEMORY = 300, 20 << 30  # of each model

FAMILIES = """alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet0_5
    mobilenet_v2 mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnext50_32x4d shufflenet_v2_x0_5
    squeezenet1_0 swin_t swin_v2_t vgg11 vgg11_bn vit_b_32 wide_resnet50_2 fcn_resnet50 deeplabv3_mobilenet_v3_large
    lraspp_mobilenet_v3_large ssd300_vgg16 ssdlite320_mobilenet_v3_large fasterrcnn_mobilenet_v3_large_320_fpn
    retinanet_resnet50_fpn fcos_resnet50_fpn maskrcnn_resnet50_fpn keypointrcnn_resnet50_fpn""".split()


def vision(only_families):
    import torchvision.models as m
    from torchvision.models import (
        detection,
        quantization,
        segmentation,
        video,
        optical_flow,
    )  # noqa: F401

    names = (
        m.list_models(module=m)
        + m.list_models(module=segmentation)
        + m.list_models(module=detection)
    )
    for name in names:
        if only_families and name not in FAMILIES:
            continue
        yield name, lambda name=name: vision_model(m, name)
    for name in m.list_models(module=video):
        yield name, lambda name=name: (
            m.get_model(name, weights=None).eval(),
            (torch.rand(1, 3, *((16, 224, 224) if name.startswith("mvit") else (8, 64, 64))),),
        )
    for name in m.list_models(module=optical_flow):
        yield name, lambda name=name: (
            m.get_model(name, weights=None).eval(),
            (torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128)),
            dict(num_flow_updates=2),
        )


# One small model of each of timm's families; the size of its pictures where it can be chosen.
TIMM = """beit_base_patch16_224 botnet26t_256 cait_xxs24_224 coat_lite_tiny convit_tiny convmixer_768_32
    convnextv2_atto:64 crossvit_tiny_240 cspresnet50:64 darknet53:64 davit_tiny deit3_small_patch16_224
    dla34:64 dm_nfnet_f0:64 dpn68:64 edgenext_xx_small:64 efficientformer_l1 efficientnet_lite0:64
    efficientvit_b0:64 eva02_tiny_patch14_224 fastvit_t8:64 fbnetc_100:64 focalnet_tiny_srf:64 gcvit_xxtiny
    ghostnet_100:64 gmixer_24_224 hardcorenas_a:64 hgnet_tiny:64 hrnet_w18_small:64 inception_next_tiny:64
    inception_resnet_v2:128 inception_v4:128 lcnet_050:64 levit_128s maxxvit_rmlp_nano_rw_256 mixer_s16_224
    mobilenetv4_conv_small:64 mobileone_s0:64 mobilevit_xxs:64 mobilevitv2_050:64 mvitv2_tiny nf_resnet50:64
    pit_ti_224 poolformer_s12:64 pvt_v2_b0:64 regnety_002:64 repghostnet_050:64 repvgg_a0:64 repvit_m1:64
    res2net50_14w_8s:64 resmlp_12_224 resnest14d:64 resnetv2_50:64 rexnet_100:64 sebotnet33ts_256
    selecsls42:64 semnasnet_075:64 sequencer2d_s skresnet18:64 spnasnet_100:64 starnet_s1:64 swiftformer_xs
    tinynet_e:64 tiny_vit_5m_224 tnt_s_patch16_224 tresnet_m:64 twins_svt_small visformer_tiny
    vit_tiny_patch16_224 volo_d1_224 vovnet39a:64 xception41:64 xcit_nano_12_p16_224
    cpubone_b0_bfrobust:64 csatv2:128 cspnext_tiny:64 densenet121:64 efficientformerv2_s0 efficientvim_m1
    efficientvit_m0 fasternet_t0:64 hiera_tiny_224 sam2_hiera_tiny iformer_t:64 inception_v3:128 lcnetv2_small:64
    lowformer_b0:64 mambaout_femto:64 mobilenetv5_300m_enc:256 naflexvit_base_patch16_gap nest_tiny
    nextvit_small:64 rdnet_tiny:64 ecaresnet26t:64 legacy_seresnet18:64 shvit_s1 swin_tiny_patch4_window7_224
    swinv2_tiny_window8_256 swinv2_cr_tiny_ns_224 vgg11_bn:64 vit_tiny_r_s16_p8_224 test_vit_relpos
    samvit_base_patch16_224 vitamin_small_224 xception:128 legacy_xception:128""".split()


def timm(_):
    import timm as library

    def model(name, size):
        made = library.create_model(name, pretrained=False).eval()
        size = int(size) if size else made.default_cfg["input_size"][-1]
        return made, (torch.rand(1, 3, size, size),)

    for row in TIMM:
        name, _, size = row.partition(":")
        yield name, lambda name=name, size=size: model(name, size)


def programs(_):
    import programs as folder

    return folder.all_of_them()


def batched_nms(boxes, scores, classes, threshold):
    """torchvision's, without its branches on the number of boxes, which torch.export refuses."""
    offsets = classes.to(boxes) * 1000
    return torch.ops.torchvision.nms(boxes + offsets[:, None], scores, threshold)


LAST = (  # of a detector's head
    r"head.*(cls_logits|bbox_reg|bbox_ctrness|module_list\.\d+(\.1)?|box_predictor\.cls_score)$"
)


def spread_scores(model, x, norms):
    """Random weights that give scores without ties, whose order PyTorch leaves open: what a
    head's last layers make gets a deviation of 1. With `norms`, for deep narrow networks that
    else lose the picture, batch norms normalise it."""
    made, hooks = {}, []

    def normalise(module, given):
        if given[0].shape[2:].numel() > 1:
            module.running_mean = given[0].mean((0, 2, 3))
            module.running_var = given[0].var((0, 2, 3))

    for key, module in model.named_modules():
        if norms and isinstance(module, torch.nn.BatchNorm2d):
            hooks.append(module.register_forward_pre_hook(normalise))
        elif isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)) and re.search(LAST, key):
            record = lambda layer, _, y: made.setdefault(layer, []).append(y.flatten())
            hooks.append(module.register_forward_hook(record))
    with torch.no_grad():
        model([x[0]])
    for hook in hooks:
        hook.remove()
    for layer, values in made.items():
        layer.weight.data /= torch.cat(values).std()
        layer.bias.data.normal_(0, 0.3)


def vision_model(m, name):
    fixed = {
        "inception_v3": 75,
        "maxvit_t": 224,
        "vit_h_14": 224,
        "swin": 64,
        "vgg": 32,
        "alexnet": 64,
        "ssd300": 300,
        "ssdlite320": 320,
    }
    size = next(
        (v for k, v in fixed.items() if name.startswith(k)), 224 if name.startswith("vit") else 64
    )
    kwargs = {}
    if any(w in name for w in ("rcnn", "retinanet", "fcos")):
        size = 96
        kwargs = {"min_size": 96, "max_size": 128} if "320" not in name else {}
        if "320" in name:
            size = 128
    if any(w in name for w in ("rcnn", "retinanet", "fcos", "ssd", "fcn", "deeplab", "lraspp")):
        kwargs["weights_backbone"] = None
    model = m.get_model(name, weights=None, **kwargs).eval()
    if hasattr(model, "transform_input"):
        model.aux_logits = False
    x = torch.rand(1, 3, size, size)
    if any(w in name for w in ("rcnn", "retinanet", "fcos", "ssd")):
        import torchvision.ops.boxes as boxes

        boxes.batched_nms = batched_nms
        spread_scores(model, x, "mobilenet" in name)
        return model, ([x[0]],)
    return model, (x,)


LAYERS = dict(
    hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64
)  # of transformers
TEXT = dict(LAYERS, vocab_size=99)
PICTURE = dict(LAYERS, image_size=32, patch_size=8)


def language(_):
    import transformers as tf

    small, image = TEXT, PICTURE
    two_sides = dict(
        vocab_size=99,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
    )
    ids = torch.arange(16).reshape(2, 8) % 99
    pixels = torch.rand(1, 3, 32, 32)

    def text(cls, config, **kw):
        return lambda: (cls(config).eval(), (), dict(input_ids=ids, **kw))

    def picture(cls, config):
        return lambda: (cls(config).eval(), (), dict(pixel_values=pixels))

    no_cache = dict(use_cache=False)
    yield "bert", text(tf.BertModel, tf.BertConfig(**small))
    yield "roberta", text(tf.RobertaModel, tf.RobertaConfig(**small))
    yield "electra", text(tf.ElectraModel, tf.ElectraConfig(**small, embedding_size=32))
    yield "albert", text(tf.AlbertModel, tf.AlbertConfig(**small, embedding_size=16))
    yield "distilbert", text(
        tf.DistilBertModel,
        tf.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64),
    )
    yield "deberta_v2", text(
        tf.DebertaV2Model,
        tf.DebertaV2Config(**small, relative_attention=True, pos_att_type=["p2c", "c2p"]),
    )
    yield "mpnet", text(tf.MPNetModel, tf.MPNetConfig(**small))
    yield "gpt2", text(
        tf.GPT2LMHeadModel,
        tf.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64),
        **no_cache,
    )
    yield "gpt_neox", text(tf.GPTNeoXForCausalLM, tf.GPTNeoXConfig(**small), **no_cache)
    yield "opt", text(
        tf.OPTModel,
        tf.OPTConfig(
            vocab_size=99,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            ffn_dim=64,
            word_embed_proj_dim=32,
        ),
        **no_cache,
    )
    yield "llama", text(
        tf.LlamaForCausalLM, tf.LlamaConfig(**small, num_key_value_heads=2), **no_cache
    )
    yield "mistral", text(
        tf.MistralForCausalLM, tf.MistralConfig(**small, num_key_value_heads=2), **no_cache
    )
    yield "qwen2", text(
        tf.Qwen2ForCausalLM, tf.Qwen2Config(**small, num_key_value_heads=2), **no_cache
    )
    yield "qwen3", text(
        tf.Qwen3ForCausalLM, tf.Qwen3Config(**small, num_key_value_heads=2, head_dim=8), **no_cache
    )
    yield "gemma", text(
        tf.GemmaForCausalLM, tf.GemmaConfig(**small, num_key_value_heads=2, head_dim=8), **no_cache
    )
    yield "phi", text(tf.PhiForCausalLM, tf.PhiConfig(**small), **no_cache)
    yield "t5_encoder", text(
        tf.T5EncoderModel,
        tf.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
    )
    yield "t5", text(
        tf.T5Model,
        tf.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
        decoder_input_ids=ids,
        **no_cache,
    )
    yield "clip", lambda: (
        tf.CLIPModel(
            tf.CLIPConfig(text_config=dict(small), vision_config=dict(image), projection_dim=16)
        ).eval(),
        (),
        dict(input_ids=ids, pixel_values=pixels),
    )
    yield "detr", lambda: (
        tf.DetrForObjectDetection(
            tf.DetrConfig(
                d_model=32,
                encoder_layers=2,
                decoder_layers=2,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                encoder_ffn_dim=64,
                decoder_ffn_dim=64,
                num_queries=8,
                use_timm_backbone=False,
                use_pretrained_backbone=False,
                backbone=None,
                backbone_config=tf.ResNetConfig(
                    embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage2"]
                ),
            )
        ).eval(),
        (),
        dict(pixel_values=torch.rand(1, 3, 64, 64)),
    )
    yield "bart", text(
        tf.BartModel,
        tf.BartConfig(**two_sides),
        decoder_input_ids=ids,
        **no_cache,
    )
    yield "vit", picture(tf.ViTModel, tf.ViTConfig(**image))
    yield "deit", picture(tf.DeiTModel, tf.DeiTConfig(**image))
    yield "dinov2", picture(
        tf.Dinov2Model,
        tf.Dinov2Config(**{k: v for k, v in image.items() if k != "intermediate_size"}),
    )
    yield "swin", picture(
        tf.SwinModel,
        tf.SwinConfig(
            image_size=32,
            patch_size=4,
            embed_dim=16,
            depths=[2, 2],
            num_heads=[2, 4],
            window_size=4,
        ),
    )
    yield "clip_vision", picture(tf.CLIPVisionModel, tf.CLIPVisionConfig(**image))
    yield "clip_text", text(tf.CLIPTextModel, tf.CLIPTextConfig(**small))
    yield "whisper_encoder", lambda: (
        tf.WhisperModel(
            tf.WhisperConfig(
                **two_sides,
                max_source_positions=32,
                pad_token_id=0,
                bos_token_id=1,
                eos_token_id=2,
                decoder_start_token_id=1,
                num_mel_bins=16,
            )
        )
        .get_encoder()
        .eval(),
        (),
        dict(input_features=torch.rand(1, 16, 64)),
    )
    yield "wav2vec2", lambda: (
        tf.Wav2Vec2Model(
            tf.Wav2Vec2Config(
                **small,
                conv_dim=[16, 16],
                conv_stride=[4, 2],
                conv_kernel=[8, 3],
                num_feat_extract_layers=2,
                num_conv_pos_embeddings=16,
                num_conv_pos_embedding_groups=2,
            )
        ).eval(),
        (),
        dict(input_values=torch.rand(1, 800)),
    )
    yield "segformer", picture(
        tf.SegformerModel,
        tf.SegformerConfig(
            num_encoder_blocks=2,
            depths=[1, 1],
            sr_ratios=[2, 1],
            hidden_sizes=[16, 32],
            patch_sizes=[7, 3],
            strides=[4, 2],
            num_attention_heads=[1, 2],
            mlp_ratios=[2, 2],
        ),
    )
    yield "resnet_hf", picture(
        tf.ResNetModel, tf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1])
    )
    yield "convnext_hf", picture(
        tf.ConvNextModel, tf.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)
    )
    yield "mamba", text(
        tf.MambaModel,
        tf.MambaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8),
        **no_cache,
    )


def newer(_):
    """Of transformers as well: later architectures, and older ones of other kinds."""
    import transformers as tf

    small, image = TEXT, PICTURE
    grouped = dict(small, num_key_value_heads=2, pad_token_id=0)
    experts = dict(grouped, num_experts_per_tok=2, moe_intermediate_size=16)
    speech = dict(
        small,
        conv_dim=[16, 16],
        conv_stride=[4, 2],
        conv_kernel=[8, 3],
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
    )
    ids = torch.arange(16).reshape(2, 8) % 99

    def of(kind, config, **given):
        return lambda: (
            getattr(tf, kind)(getattr(tf, config[0])(**config[1])).eval(),
            (),
            given,
        )

    def text(name, config, kind="Model", **more):
        return of(name + kind, (name + "Config", config), input_ids=ids, **more)

    def decoder(name, config):
        return text(name, config, "ForCausalLM", use_cache=False)

    def picture(name, config, size=32, kind="Model"):
        return of(name + kind, (name + "Config", config), pixel_values=torch.rand(1, 3, size, size))

    def sound(name, config):
        return of(name + "Model", (name + "Config", config), input_values=torch.rand(1, 800))

    yield "modernbert", text("ModernBert", dict(small, pad_token_id=0))
    yield "xlnet", text("XLNet", dict(vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=64))
    yield "fnet", text("FNet", small)
    yield "convbert", text("ConvBert", dict(small, embedding_size=32))
    yield "mobilebert", text("MobileBert", dict(small, embedding_size=16, intra_bottleneck_size=16))
    yield "squeezebert", text("SqueezeBert", dict(small, embedding_size=32))
    yield "esm", text("Esm", dict(small, pad_token_id=1, mask_token_id=4))
    yield "nystromformer", text("Nystromformer", dict(small, num_landmarks=8, segment_means_seq_len=8))
    yield "bloom", decoder("Bloom", dict(vocab_size=99, hidden_size=32, n_layer=2, n_head=4))
    yield "falcon", decoder("Falcon", small)
    yield "gpt_oss", decoder("GptOss", dict(grouped, num_local_experts=4, head_dim=8))
    yield "mixtral", decoder("Mixtral", dict(grouped, num_local_experts=4))
    yield "qwen3_moe", decoder("Qwen3Moe", dict(experts, num_experts=4, head_dim=8))
    yield "qwen3_next", decoder(
        "Qwen3Next",
        dict(
            experts,
            num_experts=4,
            head_dim=8,
            linear_num_value_heads=4,
            linear_num_key_heads=2,
            linear_key_head_dim=8,
            linear_value_head_dim=8,
            shared_expert_intermediate_size=16,
            layer_types=["linear_attention", "full_attention"],
        ),
    )
    yield "gemma2", decoder("Gemma2", dict(grouped, head_dim=8))
    yield "gemma3", of(
        "Gemma3ForCausalLM",
        ("Gemma3TextConfig", dict(grouped, head_dim=8)),
        input_ids=ids,
        use_cache=False,
    )
    yield "olmo2", decoder("Olmo2", grouped)
    yield "phi3", decoder("Phi3", grouped)
    yield "granite", decoder("Granite", grouped)
    yield "cohere2", decoder("Cohere2", grouped)
    yield "glm4", decoder("Glm4", dict(grouped, head_dim=8))
    yield "smollm3", decoder("SmolLM3", grouped)
    yield "starcoder2", decoder("Starcoder2", grouped)
    yield "lfm2", decoder("Lfm2", dict(grouped, layer_types=["conv", "full_attention"]))
    yield "rwkv", text("Rwkv", dict(vocab_size=99, hidden_size=32, num_hidden_layers=2), use_cache=False)
    yield "mamba2", text(
        "Mamba2",
        dict(
            vocab_size=99,
            hidden_size=32,
            num_hidden_layers=2,
            state_size=8,
            num_heads=8,
            head_dim=8,
            n_groups=2,
            chunk_size=4,
        ),
        use_cache=False,
    )
    yield "siglip_vision", picture("SiglipVision", image)
    yield "dinov3", picture("DINOv3ViT", image)
    yield "beit", picture("Beit", image)
    yield "yolos", picture(
        "Yolos", dict(image, image_size=[32, 32], num_detection_tokens=4), kind="ForObjectDetection"
    )
    yield "mobilevit", picture(
        "MobileViT",
        dict(image, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 8, 16, 16, 16, 32]),
        64,
    )
    yield "efficientnet_hf", picture("EfficientNet", dict(image_size=64, width_coefficient=0.25, hidden_dim=320), 64)
    yield "pvt_v2", picture("PvtV2", dict(hidden_sizes=[8, 8, 16, 16], depths=[1] * 4, num_attention_heads=[1, 1, 2, 2]))
    yield "vit_mae", of(
        "ViTMAEModel",
        ("ViTMAEConfig", image),
        pixel_values=torch.rand(1, 3, 32, 32),
        noise=torch.rand(1, 16),
    )
    yield "hubert", sound("Hubert", speech)
    yield "wavlm", sound("WavLM", speech)
    yield "data2vec_audio", sound("Data2VecAudio", speech)
    yield "moonshine", of(
        "MoonshineModel",
        ("MoonshineConfig", dict(vocab_size=99, hidden_size=32, intermediate_size=64)),
        input_values=torch.rand(1, 4000),
        decoder_input_ids=ids[:1],
        use_cache=False,
    )
    yield "patchtst", of(
        "PatchTSTModel",
        ("PatchTSTConfig", dict(num_input_channels=2, context_length=32, d_model=16)),
        past_values=torch.rand(1, 32, 2),
    )


def tensors(tree):
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def compare(got, wanted):
    """The largest difference, in parts of the largest number; None: shapes differ."""
    worst = 0.0
    if len(got) < len(wanted):
        return None
    for a, b in zip(got, wanted):
        b = b.detach().float().numpy() if b.dtype == torch.bfloat16 else b.detach().numpy()
        if a.shape != b.shape:
            return None
        if b.size == 0:
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not (np.isnan(a) == np.isnan(b)).all():
            return float("inf")
        a, b = np.nan_to_num(a, posinf=1e30, neginf=-1e30), np.nan_to_num(
            b, posinf=1e30, neginf=-1e30
        )
        worst = max(worst, float(np.abs(a - b).max() / (np.abs(b).max() + 1e-30)))
    return worst


def export(model, args, kwargs=None, dynamic=None):
    """The program; --decomposed: in operators of the core set alone."""
    program = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic)
    return program.run_decompositions() if "--decomposed" in sys.argv else program


def check(tenon, name, make, folder):
    torch.manual_seed(0)
    made = make()
    model, args, kwargs = made if len(made) == 3 else (*made, {})
    begin = time.time()
    with torch.no_grad():
        wanted = tensors(model(*args, **kwargs))
        program = export(model, args, kwargs)
    path = folder / f"{name}.pt2"
    torch.export.save(program, path)
    exported = time.time() - begin
    names = [
        s.arg.name
        for s in program.graph_signature.input_specs
        if s.kind.name == "USER_INPUT"
        and hasattr(s.arg, "name")
        and type(s.arg).__name__ == "TensorArgument"
    ]
    command = [tenon, "run", str(path), "--output", str(folder / name)]
    for k, x in zip(names, tensors((args, kwargs))):
        np.save(folder / f"{name}.{k}.npy", x.numpy())
        command += ["--input", f"{k}={folder / f'{name}.{k}.npy'}"]
    (folder / name).mkdir(exist_ok=True)
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if run.returncode:
        return exported, run.stderr.strip().splitlines()[0].replace(str(folder) + "/", "")[:230]
    outputs = [
        s.arg.name
        for s in program.graph_signature.output_specs
        if s.kind.name == "USER_OUTPUT" and type(s.arg).__name__ == "TensorArgument"
    ]
    files = {f.name: f for f in (folder / name).glob("*.npy")}
    got = []
    for k in outputs:
        file = files.get(f"{k}.npy") or next(
            (f for n, f in sorted(files.items()) if n.startswith(f"{k}~")), None
        )
        if file is None:
            return exported, f"no output '{k}' among {sorted(files)[:6]}"
        got.append(np.load(file))
    worst = compare(got, wanted)
    return exported, (
        "shapes differ: %s, %s" % ([g.shape for g in got][:4], [tuple(w.shape) for w in wanted][:4])
        if worst is None
        else worst
    )


def named(tree, name="output"):
    """What a program answers, by the names that Tenon gives its outputs."""
    if isinstance(tree, torch.Tensor):
        return [(name, tree)]
    if isinstance(tree, dict):
        return [x for k, v in tree.items() for x in named(v, f"{name}.{k}")]
    if isinstance(tree, (list, tuple)):
        return [x for k, v in enumerate(tree) for x in named(v, f"{name}.{k}")]
    return []


class Answers(torch.nn.Module):
    """A model as a function of tensors that answers tensors: traced programs have nothing else."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *given):
        if self.names:
            return tuple(tensors(self.model(**dict(zip(self.names, given)))))
        return tuple(tensors(self.model(list(given))))  # a detector takes a list of pictures


def save_script(kind, model, args, path):
    if kind == "script":
        program = torch.jit.script(model)
    else:
        program = torch.jit.trace(model, args, strict=False, check_trace=False)
    program.save(path)
    return torch.jit.load(path)


def check_script(tenon, kind, name, make, folder):
    torch.manual_seed(0)
    made = make()
    model, args, kwargs = made if len(made) == 3 else (*made, {})
    begin = time.time()
    if kind == "trace" and args and isinstance(args[0], list):
        model, args = Answers(model, None).eval(), tuple(args[0])
    if "use_cache" in kwargs:  # traced programs take tensors
        model.config.use_cache = kwargs.pop("use_cache")
    if kind == "trace" and kwargs:
        model, args, kwargs = Answers(model, list(kwargs)).eval(), tuple(kwargs.values()), {}
    path = folder / f"{name}.pt"
    with torch.no_grad():
        program = save_script(kind, model, args, str(path))
        wanted = named(program(*args, **kwargs))
    saved = time.time() - begin
    params = [a.name for a in program.forward.schema.arguments[1:]]
    given = list(zip(params, args)) + list(kwargs.items())
    command = [tenon, "run", str(path), "--output", str(folder / name)]
    for k, x in [y for n, v in given for y in named(v, n)]:
        np.save(folder / f"{name}.{k}.npy", x.numpy())
        command += ["--input", f"{k}={folder / f'{name}.{k}.npy'}"]
    (folder / name).mkdir(exist_ok=True)
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if run.returncode:
        return saved, run.stderr.strip().splitlines()[0].replace(str(folder) + "/", "")[:230]
    missing = [k for k, _ in wanted if not (folder / name / f"{k}.npy").exists()]
    if missing:
        return saved, f"no output '{missing[0]}'"
    worst = compare(
        [np.load(folder / name / f"{k}.npy") for k, _ in wanted], [y for _, y in wanted]
    )
    return saved, "shapes differ" if worst is None else worst


def check_sets(tenon, kind, name, case, folder):
    """A small program, with several inputs in order on one session, as `tenon test` has them."""
    torch.manual_seed(0)
    made = case()
    begin = time.time()
    at = folder / name
    (at / "ref").mkdir(parents=True, exist_ok=True)
    model, sets = made.model.eval(), made.sets
    with torch.no_grad():
        if kind == "export":
            program = export(model, sets[0], dynamic=made.dynamic)
            torch.export.save(program, at / "model.pt2")
            run = torch.export.load(at / "model.pt2").module()
        else:
            run = save_script(kind, model, sets[0], str(at / "model.pt"))
        for k, given in enumerate(sets):
            for i, x in enumerate(y for _, y in leaves(given)):
                np.save(at / "ref" / f"set{k}_in{i}.npy", x)
            for i, (_, y) in enumerate(leaves(run(*copy.deepcopy(given)))):
                np.save(at / "ref" / f"set{k}_out{i}.npy", y)
    command = [tenon, "test", str(at), "--rtol", "1e-4", "--no-fork"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    ok = run.returncode == 0 and "1 passed" in run.stdout
    said = (run.stderr + run.stdout).strip().replace(str(folder) + "/", "")
    return time.time() - begin, 0.0 if ok else f"{said[:230]} (exit {run.returncode})"


def leaves(tree):
    """Tensors and numbers of what a program takes or answers."""
    flat = [x for x in pytree.tree_leaves(tree) if isinstance(x, (torch.Tensor, int, float))]
    return [
        (None, x.resolve_conj().resolve_neg().numpy() if torch.is_tensor(x) else np.asarray(x))
        for x in flat
    ]


def one(args, part, name, make, folder):
    """In a process of its own: one line about the model."""
    try:
        if part == "programs":
            seconds, what = check_sets(args.tenon, args.kind, name, make, folder)
        elif args.kind == "export":
            seconds, what = check(args.tenon, name, make, folder)
        else:
            seconds, what = check_script(args.tenon, args.kind, name, make, folder)
    except subprocess.TimeoutExpired:
        return "HANGS"
    except Exception as e:  # PyTorch itself could not
        text = str(e).strip().splitlines()[0][:120] if str(e).strip() else ""
        return f"not exported: {type(e).__name__}: {text}"
    return (what if isinstance(what, str) else f"{what:.1e}") + f"   ({seconds:.0f} s)"


def in_child(limit_s, function, *args):
    """What the function answers, or how its process ended: memory and time are limited."""
    end, begin = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(limit_s)
        os.write(begin, function(*args).encode())
        os._exit(0)
    os.close(begin)
    with os.fdopen(end, "rb") as said:
        text = said.read().decode()
    status = os.waitpid(child, 0)[1]
    return text or f"not exported: the process ended with {status}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tenon")
    parser.add_argument(
        "--as", dest="kind", choices=["export", "trace", "script"], default="export"
    )
    parser.add_argument("--decomposed", action="store_true", help="operators of the core set")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--keep")
    parser.add_argument(
        "--families", action="store_true", help="of torchvision, one model of each family"
    )
    parts = {f.__name__: f for f in (vision, language, newer, timm, programs)}
    parser.add_argument("--part", choices=parts)
    args = parser.parse_args()
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    torch.export.export(torch.nn.Identity(), (torch.ones(1),))  # children find it imported
    count = {"agree": 0, "differ": 0, "refused": 0, "not exported": 0}
    for part, of in parts.items():
        if args.part and part != args.part:
            continue
        for name, make in of(args.families):
            if args.only and not any(
                w == name or (w.endswith("*") and name.startswith(w[:-1])) for w in args.only
            ):
                continue
            folder = pathlib.Path(args.keep or tempfile.mkdtemp())
            folder.mkdir(exist_ok=True)
            said = in_child(2 * LIMIT_S, one, args, part, name, make, folder)
            if not args.keep:
                shutil.rmtree(folder)
            number = re.match(r"[\d.e+-]+ |inf|nan", said)
            good = number and float(number[0]) < 1e-3
            kind = "agree" if good else "differ" if number else "refused"
            count["not exported" if said.startswith("not exported") else kind] += 1
            print(f"{name:40} {said}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in count.items()))
    return count["differ"] + count["refused"] > 0


sys.exit(main())
