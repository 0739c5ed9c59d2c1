#!/usr/bin/env bash
# Everything about the CUDA kernels that needs a device, in six minutes at most; JSON files in the folder OUT.
#
#   kernels/cuda/device_check.sh              on a machine with an NVIDIA GPU, its driver, nvcc and Python
#   kernels/cuda/device_check.sh --emulate    the same steps on the emulated kernels of a development install
#
# OUT       where the results go (default build/cuda/device)
# PYTHON    an interpreter with numpy, pip and the packages of the dev extra (default: .venv, else python3)
# CUDACXX   nvcc (default: on PATH, or in /usr/local/cuda*)
# Each step has a time limit, is reported in steps.jsonl, and does not stop the others; the exit status is 1 if one failed.
# Only what the sanitizer finds counts as its failure, not that it had too little time (status 124).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
emulate=$([[ ${1:-} == --emulate ]] && echo 1 || echo 0)
out=$(mkdir -p "${OUT:-build/cuda/device}" && cd "${OUT:-build/cuda/device}" && pwd)
python=${PYTHON:-$([[ -x .venv/bin/python ]] && echo "$PWD/.venv/bin/python" || command -v python3)}
export PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1 PIP_DISABLE_PIP_VERSION_CHECK=1
started=$SECONDS failed=0
: >"$out/steps.jsonl"

# step NAME SECONDS COMMAND...: runs it under a time limit that also keeps the whole within six minutes.
step() {
  local name=$1 limit=$2 begun=$SECONDS status left=$((355 - (SECONDS - started)))
  shift 2
  ((limit > left)) && limit=$left
  if ((limit < 5)); then
    status=124
    echo "== $name: no time is left" >&2
  else
    echo "== $name (at most $limit s)" >&2
    timeout -k 5 "$limit" "$@" >"$out/$name.log" 2>&1
    status=$?
    tail -n 6 "$out/$name.log" >&2
  fi
  printf '{"step": "%s", "status": %d, "seconds": %d}\n' "$name" "$status" $((SECONDS - begun)) >>"$out/steps.jsonl"
  ((status == 0)) || { [[ -n ${optional:-} ]] && ((status == 124 || status == 137)); } || failed=1
  return "$status"
}

if ((emulate)); then
  export DEEPVOICE_CUDA_EMULATION=1
  clock=(--emulate)
  tests=()
  sanitizer=
else
  nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,memory.total --format=csv | tee "$out/gpu.csv" >&2
  mhz=$(nvidia-smi --query-gpu=clocks.max.sm --format=csv,noheader,nounits | head -1)
  [[ $mhz =~ ^[0-9]+$ ]] && clock=(--clock-mhz "$mhz") || clock=()
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
  if [[ -z ${CUDACXX:-} ]]; then
    CUDACXX=$(command -v nvcc || ls -1d /usr/local/cuda*/bin/nvcc 2>/dev/null | sort -V | tail -1)
  fi
  export CUDACXX DEEPVOICE_CUDA=ON CUDAARCHS=${capability:-90}-real DEEPVOICE_CUDA_TESTS=device
  tests=(-p no:cacheprovider)
  sanitizer=$(command -v compute-sanitizer || ls -1d /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | sort -V | tail -1)
  # An environment of its own, made anew, that sees the packages of $PYTHON, so that nothing there is replaced.
  step venv 60 "$python" -m venv --clear --without-pip "$out/venv" || exit 1
  "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
    >"$("$out/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tools.pth"
  step build 150 "$out/venv/bin/python" -m pip install --no-build-isolation --no-deps -C "build-dir=$out/build" \
    --target "$("$out/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" . || exit 1
  python=$out/venv/bin/python
fi

step doctor 30 env DEEPVOICE_KERNELS=cuda "$python" -c 'from deepvoice.kernels import cuda; print(cuda.device())' || exit 1
step parity $((emulate ? 200 : 100)) "$python" -m pytest --import-mode=importlib -q "${tests[@]}" tests/kernels/cuda
step bench 120 "$python" -m deepvoice.kernels.bench.device "${clock[@]}" --json "$out/device.json"
if ((emulate)); then
  step voice 60 env DEEPVOICE_KERNELS=cuda "$python" -c '
import deepvoice
voice = deepvoice.load(threads=1)
assert voice.backend == "cuda" and voice.dispatcher().slots >= 16
print(voice.backend, voice._synthesizer.precision, voice._synthesizer.streams_at_once)'
else
  step voice 60 env DEEPVOICE_KERNELS=cuda "$python" -m deepvoice.recipes.bench.whole --many
fi
# Last, in the time that is left: it is slow, and not on every machine.
if [[ -n $sanitizer ]]; then
  for tool in memcheck racecheck; do
    optional=1 step "$tool" 60 "$sanitizer" --tool "$tool" --error-exitcode 9 "$python" -m pytest --import-mode=importlib -q -x \
      -p no:cacheprovider tests/kernels/cuda/test_cuda_layers.py -k "test_gru or test_dense or test_qrnn_pool"
  done
fi
echo "== done after $((SECONDS - started)) s; results in $out" >&2
exit "$failed"
