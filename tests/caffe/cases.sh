#!/bin/bash
# usage: cases.sh TENON FOLDER: the small Caffe networks answer what is stored beside them; what is
# wrong in a file is named with line and column.
. "$(dirname "$0")/../models/kit.sh"
passes '3 passed, 0 failed, 0 skipped'
# a .prototxt of this text, without weights, is refused with this message
refuses() {
  printf '%s\n' "$2" >"$work/x.prototxt"
  fails -F "$1" info "$work/x.prototxt"
}
in='input: "x" input_dim: 1 input_dim: 2 input_dim: 4 input_dim: 4'
refuses "x.prototxt:2:36: 'typo' is no field of LayerParameter" "$in
layer { name: \"a\" type: \"ReLU\"     typo: 1 }"
refuses "'MEAN' is no value of 'pool', which takes MAX=0 AVE=1" "$in
layer { type: \"Pooling\" pooling_param { pool: MEAN } }"
refuses "x.prototxt:2:1: this LayerParameter has no end" "$in
layer { name: \"a\""
refuses "no layer before it gives 'y'" "$in
layer { name: \"a\" type: \"ReLU\" bottom: \"y\" top: \"z\" }"
refuses "layer 'a' (Python): not supported:" "$in
layer { name: \"a\" type: \"Python\" bottom: \"x\" top: \"z\" }"
refuses "layer 'a' (nonsense): is of no type that the oldest form of layers (V0) has" "$in
layers { layer { name: \"a\" type: \"nonsense\" } bottom: \"x\" top: \"z\" }"
refuses "(V0) and newer ones do not go together" "$in
layers { layer { name: \"a\" type: \"relu\" } bottom: \"x\" top: \"y\" }
layers { name: \"b\" type: RELU bottom: \"y\" top: \"z\" }"
refuses "layer 'b' (relu): reads padding, which is only for one layer with a window" "$in
layers { layer { name: \"a\" type: \"padding\" pad: 1 } bottom: \"x\" top: \"y\" }
layers { layer { name: \"b\" type: \"relu\" } bottom: \"y\" top: \"z\" }"
refuses "needs weights, and there is no 'x.caffemodel'" "$in
layer { name: \"a\" type: \"InnerProduct\" bottom: \"x\" top: \"z\" }"
refuses "only layers for training give what it reads" "
layer { name: \"d\" type: \"Data\" top: \"x\" }
layer { name: \"a\" type: \"ReLU\" bottom: \"x\" top: \"z\" }"
# what is refused when types are known: the network of SSD's layers, edited
does_not_run() { # MESSAGE EDIT
  sed "$2" "$folder/ssd/model.prototxt" >"$work/ssd.prototxt"
  fails -F "$1" run "$work/ssd.prototxt" --random
}
does_not_run "node 'found' (caffe::DetectionOutput): not supported: top_k of 0" \
  's/top_k: 20/top_k: 0/'
does_not_run "so many aspect ratios" "s/aspect_ratio: 2/$(printf 'aspect_ratio: %d ' {2..130})/"
printf 'net: "a.prototxt"\nbase_lr: 0.01\n' >"$work/solver.prototxt"
fails -F "text, but no network: nothing in it is a layer" info "$work/solver.prototxt"
# old layers, and pooling that rounds up: 4 windows of 4 elements by 3 are 2
printf '%s\n' "$in" 'layers { name: "p" type: POOLING bottom: "x" top: "y"
  pooling_param { kernel_size: 2 stride: 3 } }' >"$work/old.prototxt"
"$tenon" run "$work/old.prototxt" --random | grep -q '^y: f32\[1,2,2,2\]' || fail "no V1 layers"
# the oldest layers, with padding of their own, answer what the same network of newer ones does;
# weights are found in files of either form
printf '%s\n' "$in" "layers { layer { name: 'pad' type: 'padding' pad: 1 } bottom: 'x' top: 'wide' }
layers { layer { name: 'c' type: 'conv' num_output: 3 kernelsize: 3 } bottom: 'wide' top: 'c' }
layers { layer { name: 'r' type: 'relu' } bottom: 'c' top: 'c' }
layers { layer { name: 'n' type: 'lrn' local_size: 3 alpha: 0.5 beta: 0.5 } bottom: 'c' top: 'n' }
layers { layer { name: 'p' type: 'pool' pool: AVE kernelsize: 3 stride: 2 } bottom: 'n' top: 'p' }
layers { layer { name: 'both' type: 'concat' } bottom: 'p' bottom: 'p' top: 'both' }
layers { layer { name: 's' type: 'softmax' } bottom: 'both' top: 's' }" >"$work/v0.prototxt"
printf '%s\n' "$in" "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c'
  convolution_param { num_output: 3 kernel_size: 3 pad: 1 } }
layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }
layer { name: 'n' type: 'LRN' bottom: 'c' top: 'n'
  lrn_param { local_size: 3 alpha: 0.5 beta: 0.5 } }
layer { name: 'p' type: 'Pooling' bottom: 'n' top: 'p'
  pooling_param { pool: AVE kernel_size: 3 stride: 2 } }
layer { name: 'both' type: 'Concat' bottom: 'p' bottom: 'p' top: 'both' }
layer { name: 's' type: 'Softmax' bottom: 'both' top: 's' }" >"$work/v2.prototxt"
python3 - "$work" <<'END' || fail "no weights are written"
import struct, sys
def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data
def blob(dims, values):
    return b"".join(bytes([8 * k + 8, n]) for k, n in enumerate(dims)) + field(
        5, struct.pack("<%df" % len(values), *values))
w, b = blob((3, 2, 3, 3), [k % 7 - 3 for k in range(54)]), blob((1, 1, 1, 3), (1, 2, -3))
old = field(2, field(1, field(1, b"c") + field(2, b"conv") + field(50, w) + field(50, b)))
new = field(100, field(1, b"c") + field(7, w) + field(7, b))
open(sys.argv[1] + "/v0.caffemodel", "wb").write(old)
open(sys.argv[1] + "/v2.caffemodel", "wb").write(new)
END
for net in v0 v2; do
  "$tenon" run "$work/$net.prototxt" --random -o "$work/$net.out" >/dev/null || fail "$net fails"
done
cmp "$work/v0.out/s.npy" "$work/v2.out/s.npy" || fail "V0 layers answer something else"
# weights that no file holds can be made up, of all layers that have some, the same ones each time
printf '%s\n' 'input: "x" input_dim: 2 input_dim: 4 input_dim: 6 input_dim: 6
layer { name: "a" type: "Convolution" bottom: "x" top: "a"
  convolution_param { num_output: 6 kernel_h: 3 kernel_w: 2 group: 2 } }
layer { name: "b" type: "BatchNorm" bottom: "a" top: "b" }
layer { name: "s" type: "Scale" bottom: "b" top: "s" scale_param { bias_term: true } }
layer { name: "i" type: "Bias" bottom: "s" top: "i" }
layer { name: "p" type: "PReLU" bottom: "i" top: "p" }
layer { name: "d" type: "Deconvolution" bottom: "p" top: "d"
  convolution_param { num_output: 4 kernel_size: 2 stride: 2 group: 2 bias_term: false } }
layer { name: "n" type: "Normalize" bottom: "d" top: "n" norm_param { across_spatial: false } }
layer { name: "f" type: "InnerProduct" bottom: "n" top: "f"
  inner_product_param { num_output: 5 transpose: true } }
layer { name: "w" type: "ArgMax" bottom: "f" top: "w" argmax_param { axis: 1 } }
layer { name: "e" type: "Embed" bottom: "w" top: "e"
  embed_param { num_output: 3 input_dim: 5 } }' >"$work/made.prototxt"
for k in 1 2; do
  "$tenon" run "$work/made.prototxt" --random-weights --random -o "$work/made$k" >/dev/null ||
    fail "random weights"
done
cmp "$work/made1/e.npy" "$work/made2/e.npy" || fail "random weights are other ones each time"
"$tenon" run "$work/made.prototxt" --random >/dev/null 2>&1 && fail "weights are made up unasked"
sed 's/group: 2 }/group: 3 }/' "$work/made.prototxt" >"$work/odd.prototxt"
"$tenon" run "$work/odd.prototxt" --random-weights --random >"$work/out" 2>&1 &&
  fail "a wrong group"
grep -q "node 'a' (caffe::Convolution).*group does not divide" "$work/out" ||
  fail "not named: $(cat "$work/out")"
# fillers: what a layer gives for the unit matrix is its weights, what it gives for zeros its bias
network_of() { # WEIGHT-FILLER BIAS-FILLER
  printf '%s\n' 'input: "x" input_shape { dim: 4 dim: 4 }
layer { name: "zero" type: "Power" bottom: "x" top: "zero" power_param { scale: 0 } }
layer { name: "w" type: "InnerProduct" bottom: "x" top: "w"
  inner_product_param { num_output: 3 bias_term: false weight_filler { '"$1"' } } }
layer { name: "b" type: "InnerProduct" bottom: "zero" top: "b"
  inner_product_param { num_output: 3 bias_filler { '"$2"' } } }
layer { name: "s" type: "Scale" bottom: "x" top: "s" scale_param { filler { value: 3 } } }
layer { name: "r" type: "Reshape" bottom: "x" top: "r"
  reshape_param { shape { dim: 1 dim: 1 dim: 4 dim: 4 } } }
layer { name: "u" type: "Deconvolution" bottom: "r" top: "u" convolution_param { num_output: 1
  kernel_size: 4 stride: 4 bias_term: false weight_filler { type: "bilinear" } } }' \
    >"$work/filled.prototxt"
}
filler() { # WEIGHT-FILLER BIAS-FILLER CONDITION: of w, the rows of 4 weights, of b, s and u
  network_of "$1" "$2"
  "$tenon" run "$work/filled.prototxt" --random-weights -i "x=$work/eye.npy" -o "$work/filled" \
    >/dev/null || fail "fillers '$1', '$2'"
  python3 - "$work/filled" "$3" <<'END' || fail "fillers '$1', '$2': not $3"
import struct, sys
def load(name):
    data = open(f"{sys.argv[1]}/{name}.npy", "rb").read()
    data = data[10 + data[8] + 256 * data[9] :]
    return struct.unpack("<%df" % (len(data) // 4), data)
y, b, s, u = map(load, "wbsu")
b, w, rows = b[:3], y, [y[k::3] for k in range(3)]
sys.exit(not all(eval(sys.argv[2])))
END
}
python3 - "$work/eye.npy" <<'END' || fail "no input"
import struct, sys
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4)}".ljust(117) + "\n"
eye = struct.pack("<16f", *([1, 0, 0, 0, 0] * 4)[:16])
open(sys.argv[1], "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", 118) + head.encode() + eye)
END
filler 'value: 2' 'type: "constant" value: 0.5' '[set(w) == {2}, set(b) == {0.5}]'
filler '' 'value: -1' '[set(w) == {0}, set(b) == {-1}, set(s) == {0, 3}]'
filler '' '' '[set(b) == {0}, u[:4] == (0.0625, 0.1875, 0.1875, 0.0625), u[17] == 0.5625]'
filler 'type: "uniform" min: 4 max: 5' '' '[min(w) >= 4, max(w) <= 5, max(w) - min(w) > 0.2]'
filler 'type: "gaussian" mean: 9 std: 0.01' '' '[8.95 < min(w) < 9 < max(w) < 9.05]'
filler 'type: "gaussian" sparse: 1' '' '[4 <= w.count(0) < 12]'
filler 'type: "positive_unitball"' '' '[min(w) > 0] + [abs(sum(r) - 1) < 1e-6 for r in rows]'
filler 'type: "xavier"' '' '[0.6 < max(map(abs, w)) <= 0.75 ** 0.5]'
filler 'type: "xavier" variance_norm: FAN_OUT' '' '[0.75 ** 0.5 < max(map(abs, w)) <= 1]'
filler 'type: "msra"' 'type: "msra"' '[0.1 < sum(v * v for v in w) / 12 < 1.5, len(set(b)) == 3]'
bad_filler() { # FILLER MESSAGE
  network_of "$1" ''
  fails -F "$2" run "$work/filled.prototxt" --random-weights --random
}
bad_filler 'type: "glorot"' "layer 'w' (InnerProduct): Caffe has no filler of the type 'glorot'"
bad_filler 'type: "bilinear"' 'a bilinear filler of a blob that has not 4 dims'
bad_filler 'type: "msra" sparse: 2' "'sparse' of a filler that is not gaussian"
bad_filler 'size: 2' "'size' is no field of FillerParameter"
rows=$("$tenon" ops --format caffe)
grep -q ' Convolution .*Conv' <<<"$rows" || fail "no row of Convolution"
exit $status
