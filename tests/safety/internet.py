"""An internet of its own: a proxy behind the run's own one, at which every host can be asked."""

from urllib.parse import urlsplit

from tests.browser.site import Site


class Internet(Site):
    """Answers for `pages`, by `host/path`."""

    @property
    def arrived(self) -> list[str]:
        """What has arrived anywhere: the address, and what was sent there."""
        return [
            f"{r.path}{r.query and '?'}{r.query} {r.body.decode()}".strip() for r in self.requests
        ]

    def at(self, host: str) -> list[str]:
        """What has arrived at a host, or at one below it."""
        return [what for what in self.arrived if str(urlsplit(f"//{what}").hostname).endswith(host)]
