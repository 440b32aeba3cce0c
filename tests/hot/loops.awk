# Reads the disassembly of one object (objdump -d --no-show-raw-insn) and checks the hot loops that
# `loops` names, as "function=count,...": the innermost loop of the function with the most multiply-adds
# must have that count, or a multiple if the compiler unrolled it; it must not touch the stack, and
# must not move vectors between registers. Such a loop runs at the machine's peak; one that spills
# does not, and nothing else would say so.
#
#     objdump -d --no-show-raw-insn conv_avx512.c.o | awk -v loops=tile_14_2_LANES=28 -f loops.awk

BEGIN {
  n = split(loops, each, ",")
  for (i = 1; i <= n; i++) {
    split(each[i], pair, "=")
    wanted[pair[1]] = pair[2]
  }
}

function number(hex,    value, k) {
  value = 0
  for (k = 1; k <= length(hex); k++) value = value * 16 + index("0123456789abcdef", substr(hex, k, 1)) - 1
  return value
}

# The loop from the target of the jump `from` back: has it another jump back inside?
function innermost(first, last,    k) {
  for (k = first; k < last; k++)
    if (k in back) return 0
  return 1
}

# Integers multiplied and added. In a function that does so, these count, and not what scales their sums.
function is_dot(line) {
  return line ~ /^({vex} )?vpdpbusd/ || line ~ /^vpmaddwd/ || line ~ /^(sdot|smlal2?)\t/
}

# Reads memory: an operand of it that is not the last, which is where results go.
function is_load(line) {
  return (line ~ /\(%[^)]*\)({1to[0-9]+})?,/ && line !~ /^lea/) || line ~ /^ld[a-z0-9]*\t/
}

function check(    j, k, first, fma, stack, moves, loads, best, best_stack, best_moves, counts, name) {
  best = 0
  for (j in back) {
    j += 0
    for (first = j; first > 0 && address[first] != back[j]; first--);
    if (!innermost(first, j)) continue
    fma = stack = moves = loads = 0
    for (k = first; k <= j; k++) {
      fma += dots ? is_dot(text[k]) : text[k] ~ /^vfn?madd/ || text[k] ~ /^fmla/
      loads += is_load(text[k])
      stack += text[k] ~ (framed ? "\\(%[re][sb]p" : "\\(%[re]sp") && text[k] ~ /[xyz]mm/
      stack += text[k] ~ /\tq[0-9]+,.*\[sp/
      moves += text[k] ~ /^vmov([au]p[sd]|dq[au](8|16|32|64)?) +%[xyz]mm[0-9]+,%[xyz]mm[0-9]+/
      moves += text[k] ~ /^mov\tv[0-9]+\.16b/
    }
    if (fma > best) {
      best = fma
      best_stack = stack
      best_moves = moves
      counts = sprintf("%d instructions, %d loads, %d bytes", j - first + 1, loads, address[j + 1] - address[first])
    }
  }
  name = current
  seen[name] = 1
  if (!best || best % wanted[name] || best_stack || best_moves) {
    printf "%s: %d multiply-adds in its hot loop (expected: %d or a multiple), %d vectors on the stack, %d moved\n",
      name, best, wanted[name], best_stack, best_moves
    bad = 1
  } else {
    printf "%s: %d multiply-adds, nothing on the stack, no moves; %s\n", name, best, counts
  }
}

/^[0-9a-f]+ <.*>:$/ {
  if (current in wanted) check()
  current = $2
  gsub(/[<>:]/, "", current)
  split("", address)
  split("", text)
  split("", back)
  count = framed = dots = 0
  next
}

current in wanted && /^ *[0-9a-f]+:\t/ {
  count++
  at = $1
  sub(":", "", at)
  address[count] = number(at)
  line = $0
  sub(/^ *[0-9a-f]+:\t/, "", line)
  text[count] = line
  dots += is_dot(line)
  if (line ~ /^mov +%rsp,%rbp/) framed = 1 # else rbp is a register like any other
  to = $2 ~ /^(j|b$|b\.)/ ? $3 : $2 ~ /^cbn?z$/ ? $4 : ""
  if (to ~ /^[0-9a-f]+$/) {
    target = number(to)
    if (target <= address[count] && target >= address[1]) back[count] = target
  }
}

END {
  if (current in wanted) check()
  for (name in wanted)
    if (!(name in seen)) {
      printf "%s: no such function in this object\n", name
      bad = 1
    }
  exit bad
}
