"""What can be held without a cluster: what Ray is told, and what happens where it is not installed."""

import json
import sys

import pytest

from deepvoice.commands import serve
from deepvoice.errors import ConfigError
from deepvoice.server.cluster import deployment_options
from deepvoice.server.settings import Settings


def test_replicas_follow_the_work():
    told = deployment_options(Settings(workers=8, slots=4, max_speaking=8, max_waiting=2, threads=2))
    assert told["autoscaling_config"] == {"min_replicas": 1, "max_replicas": 8, "target_ongoing_requests": 4}
    assert told["max_ongoing_requests"] == 10
    assert told["ray_actor_options"] == {"num_cpus": 2}
    json.dumps(told)


@pytest.mark.parametrize(("flags", "module", "extra"), [(["--ray"], "ray", "ray"), ([], "uvicorn", "server")])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, flags, module, extra):
    for name in [
        name for name in sys.modules if name.startswith(("deepvoice.server.run", "deepvoice.server.protocol"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    import argparse

    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    with pytest.raises(ConfigError, match=rf"deepvoice\[{extra}\]"):
        serve.run(parser.parse_args(flags))
