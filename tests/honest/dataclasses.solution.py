"""Points in a plane."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Point:
    """A place."""

    x: float
    y: float

    def distance(self, other: Point) -> float:
        """As the crow flies."""
        return math.hypot(self.x - other.x, self.y - other.y)


@dataclass
class Route:
    """Places in order."""

    points: list[Point] = field(default_factory=list)

    @property
    def length(self) -> float:
        """Along all points."""
        pairs = zip(self.points, self.points[1:])
        return sum(a.distance(b) for a, b in pairs)

    def closed(self) -> Route:
        """The same, and back to its start."""
        if not self.points:
            return Route()
        return Route([*self.points, self.points[0]])


def main() -> None:
    print(Route([Point(0, 0), Point(3, 4)]).length)


if __name__ == "__main__":
    main()
