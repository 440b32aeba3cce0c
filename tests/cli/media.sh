#!/bin/bash
# tenon run: pictures and sound.
. "$(dirname "$0")/kit.sh"
picture=$data/picture.onnx

# pixel (y, x) has the channels 30 (4 y + x), + 10, + 20
says 0 '^same: f32\[1,3,2,4\]  min 0  max 230  mean 115  \[0, 30, 60, 90, 120, ' \
  run "$picture" -i "$data/colours.png"
says 0 'min -1  max 20  mean 9\.5  \[-1, 2, 5, 8, 11, ' \
  run "$picture" -i "$data/colours.png" --scale 1/10 --mean 1,2,3 --std 1 --layout nchw
says 2 '' run "$picture" -i "$data/colours.png" --scale 1/10 --mean 1 --std 3,0,3
also '--std: pixels cannot be divided by zero'
says 0 '^same: u8\[1,2,4,3\] .* \[0, 10, 20, 30, 40, ' \
  run "$data/picture_nhwc.onnx" -i "$data/colours.png"
says 0 ' min 0  max 255 ' \
  run "$data/picture_nhwc.onnx" -i "$data/colours.png" --scale 2 --mean 100 # clamped
says 3 'picture of 4 x 2 pixels .* does not fit f32\[1,3,2,4\] as NHWC; --resize makes it fit' \
  run "$picture" -i "$data/colours.png" --layout nhwc
says 3 'a gray picture of 4 x 2 pixels .* does not fit' run "$picture" -i "$data/colours.png" --gray
says 3 'of 8 x 2 pixels .* does not fit f32\[1,3,2,4\]; --resize makes it fit' \
  run "$picture" -i "$data/wide.png"
says 0 '^same: f32\[1,3,2,4\]  min 0  max 230  mean 115  \[0, 30, 60, 90, 120, ' \
  run "$picture" -i "$data/wide.png" --resize crop
says 0 '^same: f32\[1,3,2,4\]  min [0-9.]*  max 25[0-9.]*  ' \
  run "$picture" -i "$data/wide.png" --resize stretch
says 0 '^same: .*  min 200  max 200 ' run "$picture" -i "$data/square.png" --resize stretch
says 0 '^same: .*  mean 100  \[0, 200, 200, 0, 0, ' \
  run "$picture" -i "$data/square.png" --resize pad
says 0 '^same: u8\[1,4,4,3\]  min 200  max 200 ' \
  run "$data/picture_nhwc.onnx" -i "$data/square.png" --resize crop
says 3 'a gray picture of 8 x 2 pixels .* does not fit f32\[1,3,2,4\]$' \
  run "$picture" -i "$data/wide.png" --gray --resize crop
says 2 "--resize is crop, stretch or pad, not 'fit'" run "$picture" --resize fit
says 3 '--mean and --std need one number, or one for each of 3' \
  run "$picture" -i "$data/colours.png" --mean 1,2
says 3 'colours.png: .* does not fit f32\[\?\]' run "$data/types.onnx" -i "in_f32=$data/colours.png"
says 3 'broken.png: not a picture that can be read' run "$picture" -i "$data/broken.png"
says 2 '--layout is nchw or nhwc' run "$picture" --layout hwc
says 2 '--mean takes 1 to 4 numbers' run "$picture" --mean a,b
says 2 '--mean takes 1 to 4 numbers' run "$picture" --mean 1/0

says 0 '^same: f32\[1,4,1\] .* \[0\.25, -0\.25, 0\.999969, -1\]' \
  run "$data/sound.onnx" -i "$data/stereo.wav"
says 0 '^out_i16: i16\[4\] .* \[8192, -8192, 32767, -32768\]' \
  run "$data/types.onnx" --random -i "in_i16=$data/stereo.wav"
says 3 'samples cannot be elements of type i32' \
  run "$data/types.onnx" --random -i "in_i32=$data/stereo.wav"
says 3 '4 samples do not fit f32\[\?,3,4,4\]' run "$data/net.onnx" -i "$data/stereo.wav"
head -c 20 "$data/stereo.wav" >"$work/cut.wav"
says 3 'cut.wav: not sound that can be read' run "$data/sound.onnx" -i "$work/cut.wav"
says 3 'cannot open .*/nowhere.wav' run "$data/sound.onnx" -i "$work/nowhere.wav"
finish
