"""A clock that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta

from anyio import Event

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class ManualClock:
    """Wall and monotonic time that `advance` moves together, waking those who sleep."""

    def __init__(self) -> None:
        self._elapsed = timedelta()
        self._sleepers: list[tuple[timedelta, Event]] = []

    def now(self) -> datetime:
        return START + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed.total_seconds()

    async def sleep(self, seconds: float) -> None:
        woken = Event()
        self._sleepers.append((self._elapsed + timedelta(seconds=seconds), woken))
        self.advance(0)
        await woken.wait()

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass, to the microsecond."""
        self._elapsed += timedelta(seconds=seconds)
        for end, woken in self._sleepers:
            if end <= self._elapsed:
                woken.set()
        self._sleepers = [sleeper for sleeper in self._sleepers if not sleeper[1].is_set()]
