"""Corpora in shards: whole or named, mapped a few at a time, in an order that is a function of the step."""

import json
import sys

import numpy as np
import pytest
import soundfile

from deepvoice.audio.mel import MelSpec
from deepvoice.configs import VocoderConfig
from deepvoice.recipes.common import features
from deepvoice.recipes.common.features import FeatureCache, build_cache, extract
from deepvoice.recipes.common.shards import Shard, ShardError, ShardStore, map_arrays, write_shard
from deepvoice.recipes.common.shuffle import WindowedShuffle
from deepvoice.recipes.segmentation.corpus import Utterance, UtteranceBatches
from deepvoice.recipes.vocoder.data import SegmentSource
from deepvoice.recipes.vocoder.train_conditioner import WindowSource

SPEC = MelSpec()
COUNT = 12
TYPICAL = np.full(SPEC.bands, -7.0, np.float32)


def tone(number):
    time = np.arange(4800 + 240 * number) / 24000
    return 0.2 * np.sin(2 * np.pi * (150 + 20 * number) * time).astype(np.float32)


@pytest.fixture
def manifest(tmp_path):
    rows = []
    for number in range(COUNT):
        soundfile.write(tmp_path / f"{number}.flac", tone(number), 24000)
        rows.append({"id": f"u{number}", "audio": f"{number}.flac", "phones": "sil AA1 .", "word_of": [-1, 0, -1]})
    path = tmp_path / "manifest.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def folder(manifest):
    """Features in shards of two utterances."""
    build_cache(manifest, manifest.parent / "features", SPEC, shard_seconds=0.4)
    return manifest.parent / "features"


def shards(folder):
    return sorted(folder.glob("*.safetensors"))


def test_a_corpus_in_shards_gives_back_what_was_computed(manifest, folder):
    assert len(shards(folder)) == COUNT // 2
    cache = FeatureCache(folder, SPEC)
    for number in (0, 1, 7, COUNT - 1):
        samples, _ = soundfile.read(manifest.parent / f"{number}.flac", dtype="float32")
        found, expected = cache[f"u{number}"], extract(samples, SPEC, number)
        for name in ("audio_T", "mel_FM", "f0_F", "phase_E", "energy_F"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert cache.shard_of(f"u{number}") == number // 2
    assert cache.seconds(200) == 1.0


def test_shards_are_the_same_bytes_every_time_and_not_made_twice(manifest, folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in shards(folder)}
    shards(folder)[2].unlink()
    made = []
    monkeypatch.setattr(features, "extract", lambda *arguments: made.append(arguments[2]) or extract(*arguments))
    build_cache(manifest, folder, SPEC, shard_seconds=0.4)
    assert made == [4, 5]
    assert {path.name: path.read_bytes() for path in shards(folder)} == before
    soundfile.write(manifest.parent / "0.flac", tone(3), 24000)  # another recording: another shard
    build_cache(manifest, folder, SPEC, shard_seconds=0.4)
    assert len(made) == 4 and len(shards(folder)) == len(before)
    assert FeatureCache(folder, SPEC).frames("u0") == FeatureCache(folder, SPEC).frames("u3")


def test_a_missing_shard_is_named_at_once(folder):
    lost = shards(folder)[3]
    lost.unlink()
    with pytest.raises(ShardError, match=rf"{lost.name} is missing, with 2 utterances.*run python -m"):
        FeatureCache(folder, SPEC)


def test_a_shortened_shard_is_named_at_once(folder):
    path = shards(folder)[1]
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ShardError, match=rf"{path.name} is damaged: \d+ bytes, expected \d+"):
        FeatureCache(folder, SPEC)


def test_a_damaged_shard_is_named_when_it_is_read_and_made_anew(manifest, folder, monkeypatch, capsys):
    path = shards(folder)[1]
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    cache = FeatureCache(folder, SPEC)
    assert len(cache["u0"].f0_F)
    with pytest.raises(ShardError, match=rf"{path.name} is damaged: SHA-256"):
        cache["u2"]
    monkeypatch.setattr(sys, "argv", ["features", str(manifest), "--check"])
    with pytest.raises(SystemExit, match=path.name):
        features.main()
    build_cache(manifest, folder, SPEC, shard_seconds=0.4)
    features.main()
    assert "whole" in capsys.readouterr().out


def test_a_cache_from_before_there_were_shards_is_read(manifest, folder):
    cache, flat = FeatureCache(folder, SPEC), manifest.parent / "flat"
    flat.mkdir()
    everything = [cache[f"u{number}"] for number in range(COUNT)]
    names = {"audio": "audio_T", "mel": "mel_FM", "f0": "f0_F", "phase": "phase_E", "energy": "energy_F"}
    for name, field in names.items():
        (flat / f"{name}.bin").write_bytes(b"".join(getattr(one, field).tobytes() for one in everything))
    index = json.loads((folder / "index.json").read_text())
    rows = [{"id": f"u{n}", "start": 0, "frames": len(one.f0_F)} for n, one in enumerate(everything)]
    (flat / "index.json").write_text(json.dumps({"hash": index["hash"], "spec": index["spec"], "utterances": rows}))
    old = FeatureCache(flat, SPEC)
    old.check()
    np.testing.assert_array_equal(old["u7"].phase_E, cache["u7"].phase_E)
    assert old.shard_of("u7") == 0
    build_cache(manifest, flat, SPEC)
    assert not list(flat.glob("*.bin")) and len(shards(flat)) == 1


def test_few_shards_are_mapped_at_a_time(tmp_path):
    made = [write_shard(tmp_path / f"{n}.safetensors", {"f0": np.full(4, n, np.float32)}, [("a", 4)]) for n in range(9)]
    store = ShardStore(tmp_path, made, most=3)
    for number in (0, 1, 2, 0, 3, 8, 0):
        assert store.arrays(number)["f0"][0] == number
        assert len(store._open) <= 3
    assert Shard.from_json(json.loads(json.dumps(made[0].to_json()))) == made[0]
    assert isinstance(map_arrays(tmp_path / "1.safetensors")["f0"].base, np.memmap)


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        write_shard(tmp_path / "0.safetensors", {"f0": np.zeros(4, np.float32)}, [("a", 4)])
    assert not list(tmp_path.iterdir())


def test_an_epoch_has_every_item_once_and_reads_few_shards_at_a_time():
    numbers = np.repeat(np.arange(10), 7)
    shuffle = WindowedShuffle(numbers, window=3, seed=5)
    assert not shuffle.whole and WindowedShuffle(numbers, window=10).whole
    orders = [shuffle.windows(epoch) for epoch in (0, 1)]
    for windows in orders:
        assert sorted(np.concatenate(windows)) == list(range(70))
        assert [len(set(numbers[part])) for part in windows] == [3, 3, 3, 1]
    assert not np.array_equal(np.concatenate(orders[0]), np.concatenate(orders[1]))
    again = WindowedShuffle(numbers, window=3, seed=5)
    again.windows(7)
    for one, other in zip(again.windows(1), orders[1], strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(WindowedShuffle(numbers, window=3, seed=6).windows(1)[0], orders[1][0])


def test_windows_last_as_long_as_their_weight():
    numbers, weights = np.arange(4), np.array([1.0, 1.0, 1.0, 5.0])
    shuffle = WindowedShuffle(numbers, weights, window=1, seed=0)
    shares = np.arange(800) / 800
    read = np.array([shuffle.candidates(0, share)[0] for share in shares])
    assert [np.sum(read == number) for number in range(4)] == [100, 100, 100, 500]
    with pytest.raises(ValueError, match="no items"):
        WindowedShuffle([])


def touched(source, cache, step, monkeypatch):
    """Return the shards that a step reads, and its first array."""
    read, original = set(), FeatureCache.__getitem__
    with monkeypatch.context() as patch:
        patch.setattr(FeatureCache, "__getitem__", lambda self, u: read.add(self.shard_of(u)) or original(self, u))
        batch = source.batch(step)
    return read, batch[0].numpy()


@pytest.mark.parametrize("kind", ["vocoder", "conditioner", "segmentation"])
def test_every_module_reads_in_windows_and_any_process_gets_the_same_batch(kind, folder, manifest, monkeypatch):
    cache = FeatureCache(folder, SPEC)
    rows = features.read_manifest(manifest)
    config = VocoderConfig(dilations=(1, 2), residual=8, skip=8, head=8, history=4, head_history=4, harmonics=2)
    durations = {row["id"]: [0, cache.frames(row["id"]), 0] for row in rows}
    utterances = [Utterance(row["id"], np.array([0, 5, 0]), cache.frames(row["id"])) for row in rows]

    def source():
        if kind == "vocoder":
            return SegmentSource(
                cache=cache, utterances=[row["id"] for row in rows], config=config, batch_size=2, frames=20, window=2
            )
        if kind == "conditioner":
            return WindowSource(rows=rows, cache=cache, alignments=durations, batch_size=2, frames=20, window=2)
        return UtteranceBatches(cache, utterances, 2, 2, TYPICAL, window=2)

    first, resumed = source(), source()
    seen = [touched(first, cache, step, monkeypatch) for step in range(6)]
    assert all(len(read) <= 2 for read, _ in seen)
    assert len(set().union(*(read for read, _ in seen))) >= 4  # an epoch comes through the corpus
    for step in (5, 2):
        np.testing.assert_array_equal(touched(resumed, cache, step, monkeypatch)[1], seen[step][1])
    if kind != "segmentation":  # whose batches are split when they are there
        name = "weight_BT" if kind == "vocoder" else "weight_BF"
        halves = [getattr(first.share(1, rank, 2), name).numpy() for rank in range(2)]
        np.testing.assert_array_equal(np.concatenate(halves), getattr(first.batch(1), name).numpy())
    seconds = first.audio_seconds(3)
    assert seconds == pytest.approx(0.2) if kind != "segmentation" else 0.3 < seconds < 1.2


def test_segmentation_trains_on_every_utterance_once_an_epoch(folder, manifest):
    cache = FeatureCache(folder, SPEC)
    utterances = [Utterance(f"u{n}", np.array([0, 5, 0]), cache.frames(f"u{n}")) for n in range(COUNT)]
    for size, steps in ((3, 4), (5, 2)):
        batches = UtteranceBatches(cache, utterances, size, 2, TYPICAL, window=2)
        assert batches.steps_per_epoch == steps
        names = [u.id for step in range(steps) for u in batches._chosen(step)]
        assert len(set(names)) == len(names) == steps * size
