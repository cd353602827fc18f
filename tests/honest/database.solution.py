"""Orders in a database."""

import sqlite3


def create(path):
    """An empty database."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE orders (customer TEXT, amount REAL)")
    return connection


def insert(connection, orders):
    """Add orders; how many."""
    with connection:
        connection.executemany("INSERT INTO orders VALUES (?, ?)", orders)
    return len(orders)


def best(connection, limit=1):
    """The customers with the highest sums."""
    rows = connection.execute(
        "SELECT customer, SUM(amount) FROM orders GROUP BY customer ORDER BY 2 DESC, 1 LIMIT ?", (limit,)
    )
    return [(customer, total) for customer, total in rows]


def main():
    connection = create(":memory:")
    insert(connection, [("a", 1.0)])
    print(best(connection))


if __name__ == "__main__":
    main()
