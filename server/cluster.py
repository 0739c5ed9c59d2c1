"""The same app as a Ray Serve deployment: replicas on the machines of a cluster, as many as there is work for."""

import os
import signal
import threading
from typing import Any

from deepvoice.server.logs import configure, log
from deepvoice.server.settings import Settings


def deployment_options(settings: Settings) -> dict[str, Any]:
    """Return what Ray is told: one replica for each `slots` requests under way, at most `workers` replicas."""
    return {
        "name": "deepvoice",
        "max_ongoing_requests": settings.max_speaking + settings.max_waiting,
        "autoscaling_config": {
            "min_replicas": 1,
            "max_replicas": settings.workers,
            "target_ongoing_requests": settings.slots or 16,
        },
        "ray_actor_options": {"num_cpus": settings.threads or 1},
        "health_check_period_s": 5,
        "graceful_shutdown_timeout_s": settings.shutdown_timeout,
    }


def deployment(settings: Settings) -> Any:
    """Return the deployment, ready for `ray.serve.run`; each replica loads its own voices."""
    from ray import serve

    def build() -> Any:
        from deepvoice.server.app import create_app

        configure(settings.log_level, settings.log_text)
        return create_app(settings)

    return serve.deployment(**deployment_options(settings))(serve.ingress(build)()).bind()


def serve_on_ray(settings: Settings) -> None:
    """Run on the cluster of RAY_ADDRESS, or on a new one on this machine, until a signal comes."""
    import ray
    from ray import serve

    configure(settings.log_level, settings.log_text)
    ray.init(address=os.environ.get("RAY_ADDRESS"), include_dashboard=False, log_to_driver=True)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        serve.start(http_options={"host": settings.host, "port": settings.port})
        serve.run(deployment(settings), name="deepvoice", route_prefix="/")
        log("listening", url=f"http://{settings.host}:{settings.port}", replicas=settings.workers)
        stopped.wait()
    finally:
        serve.shutdown()
        ray.shutdown()
