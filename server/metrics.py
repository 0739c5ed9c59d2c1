"""Counters and histograms in Prometheus' format, one registry for each app."""

import threading
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from deepvoice.dispatch import Dispatcher

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0)
_FACTORS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0)


class Metrics:
    """What a server counts. Time to first audio runs from the arrival of a request to its first bytes of audio."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._lock = threading.Lock()
        new = self.registry
        self.requests = Counter("deepvoice_requests", "Requests answered", ("route", "status"), registry=new)
        self.errors = Counter("deepvoice_errors", "Requests that failed, by status", ("status",), registry=new)
        self.cancellations = Counter(
            "deepvoice_cancellations", "Requests whose client left before the end", registry=new
        )
        self.reruns = Counter("deepvoice_reruns", "Requests run again after a worker failed", registry=new)
        self.characters = Counter("deepvoice_characters", "Characters of the texts spoken", registry=new)
        self.audio_seconds = Counter("deepvoice_audio_seconds", "Seconds of speech made", registry=new)
        self.first_audio = Histogram(
            "deepvoice_time_to_first_audio_seconds", "From a request to its first audio", buckets=_SECONDS, registry=new
        )
        self.real_time_factor = Histogram(
            "deepvoice_real_time_factor",
            "Seconds of speech for each second of a request",
            buckets=_FACTORS,
            registry=new,
        )
        self.speaking = Gauge("deepvoice_speaking", "Requests that are worked on", registry=new)
        self.waiting = Gauge("deepvoice_queue_depth", "Requests that wait for their turn", registry=new)

    def watch(self, dispatchers: Mapping[str, Dispatcher]) -> None:
        """Add what the dispatchers of the voices are doing, read whenever the metrics are."""
        self.registry.register(_DispatcherCollector(dispatchers))

    def exposition(self) -> bytes:
        """Return everything in the text format."""
        with self._lock:
            return generate_latest(self.registry)


def merge(expositions: Mapping[str, bytes]) -> bytes:
    """Return the metrics of several processes as one text, each sample with the label `worker`."""
    merged: dict[str, Metric] = {}
    for worker, text in expositions.items():
        for family in text_string_to_metric_families(text.decode()):
            target = merged.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            target.samples += [
                Sample(sample.name, {**sample.labels, "worker": worker}, sample.value) for sample in family.samples
            ]
    return generate_latest(_Fixed(merged.values()))


class _Fixed(CollectorRegistry):
    """A registry of what is there already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        super().__init__()
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


class _DispatcherCollector(Collector):
    """Slots and batches of the vocoder, by voice; pieces divided by batches is how many slots are busy on average."""

    def __init__(self, dispatchers: Mapping[str, Dispatcher]) -> None:
        self._dispatchers = dispatchers

    def collect(self) -> Iterator[Metric]:
        labels = ["voice"]
        busy = GaugeMetricFamily("deepvoice_slots_busy", "Sentences rendered now", labels=labels)
        waiting = GaugeMetricFamily("deepvoice_sentences_waiting", "Sentences waiting for a slot", labels=labels)
        paused = GaugeMetricFamily("deepvoice_sentences_paused", "Sentences far ahead of their reader", labels=labels)
        pieces = CounterMetricFamily("deepvoice_pieces", "Pieces of sentences rendered", labels=labels)
        sizes = HistogramMetricFamily("deepvoice_batch_size", "Sentences of a batch", labels=labels)
        for voice, dispatcher in self._dispatchers.items():
            stats = dispatcher.stats()
            for family, value in ((busy, stats.busy), (waiting, stats.waiting), (paused, stats.paused)):
                family.add_metric([voice], value)
            pieces.add_metric([voice], stats.pieces)
            count, buckets = 0, []
            for size, batches in stats.batches:
                count += batches
                buckets.append((str(size), float(count)))
            total = sum(size * batches for size, batches in stats.batches)
            sizes.add_metric([voice], [*buckets, ("+Inf", float(count))], sum_value=float(total))
        yield from (busy, waiting, paused, pieces, sizes)
