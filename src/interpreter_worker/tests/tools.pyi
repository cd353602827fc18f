from datetime import date
from typing import Any, Literal, NotRequired, TypedDict

class File(TypedDict):
    name: str
    sha256: str
    bytes: int

class Item(TypedDict):
    sku: str
    quantity: int
    price: float

class Order(TypedDict):
    id: str
    customer: str
    total: float
    placed: str
    status: Literal["open", "paid", "returned"]
    items: list[Item]
    note: NotRequired[str]

class Customer(TypedDict):
    id: str
    name: str
    email: str | None
    country: str

class Page(TypedDict):
    rows: list[Order]
    next: str | None

class Hit(TypedDict):
    title: str
    url: str
    score: float

class Cleaned(TypedDict):
    cleaned: File
    dropped: int

async def orders(customer: str | None = None, limit: int = 100) -> list[Order]: ...
async def order(id: str) -> Order: ...
async def order_page(cursor: str | None = None) -> Page: ...
async def customer(id: str) -> Customer: ...
async def exchange_rate(base: str, on: date | None = None) -> float: ...
async def search(query: str, limit: int = 5) -> list[Hit]: ...
async def refund(order: str, amount: float) -> bool: ...
async def clean_orders(orders: File) -> Cleaned: ...
async def read_text(handle: File, limit: int = 10000) -> str: ...
async def sample_file() -> File: ...
async def stock() -> dict[str, int]: ...
async def anything(path: str) -> Any: ...
async def send_mail(to: str, subject: str, body: str) -> None: ...
