//! Answers for the tools of `tools.json`.

use codegen_interpreter::{ReplyOutcome, WorkerCall};
use serde_json::{Value, json};

use crate::support::raise;

fn orders() -> Vec<Value> {
    let order = |id: &str, customer: &str, total: f64, placed: &str, status: &str, items: Value| json!({"id": id, "customer": customer, "total": total, "placed": placed, "status": status, "items": items});
    let mut first = order(
        "o1",
        "c1",
        100.5,
        "2026-01-15",
        "open",
        json!([{"sku": "a", "quantity": 1, "price": 100.5}]),
    );
    first["note"] = json!("gift");
    vec![
        first,
        order(
            "o2",
            "c1",
            200.0,
            "2026-03-01",
            "paid",
            json!([{"sku": "b", "quantity": 5, "price": 40.0}]),
        ),
        order(
            "o3",
            "c2",
            125.0,
            "2026-02-01",
            "returned",
            json!([{"sku": "a", "quantity": 2, "price": 62.5}]),
        ),
    ]
}

fn handle(name: &str) -> Value {
    json!({"name": name, "sha256": "00", "bytes": 24})
}

/// The argument, by position or by name.
fn argument<'a>(call: &'a WorkerCall, position: usize, name: &str) -> &'a Value {
    let by_name = call.kwargs.get(name);
    call.args.get(position).or(by_name).unwrap_or(&Value::Null)
}

fn exchange_rate(call: &WorkerCall) -> ReplyOutcome {
    match argument(call, 0, "base").as_str() {
        Some("EUR") => ReplyOutcome::Return(json!(1.1)),
        other => raise(
            "ValueError",
            &format!("unknown currency {}", other.unwrap_or("-")),
        ),
    }
}

fn anything(call: &WorkerCall) -> ReplyOutcome {
    match argument(call, 0, "path").as_str() {
        Some("/v1/away") => raise("ConnectionError", "connection refused"),
        _ => ReplyOutcome::Return(json!({"things": [{"name": "a"}, {"name": "b"}]})),
    }
}

fn orders_of(customer: &Value) -> Value {
    let is_of = |order: &Value| customer.is_null() || order["customer"] == *customer;
    orders().into_iter().filter(is_of).collect()
}

fn customer(id: &Value) -> Value {
    let (name, email) = if id == "c1" {
        ("Ada", json!("Ada@shop.example"))
    } else {
        ("Bo", Value::Null)
    };
    json!({"id": id, "name": name, "email": email, "country": "DE"})
}

fn search(query: &str) -> Value {
    let hit = |title: &str, url: &str, score: f64| json!({"title": title, "url": url, "score": score});
    match query {
        "shipping" => json!([hit("Shipping", "/shipping", 0.9)]),
        _ => json!([hit("Returns", "/returns", 0.8), hit("About", "/about", 0.1)]),
    }
}

fn page(cursor: &Value) -> Value {
    let all = orders();
    if cursor.is_null() {
        json!({"rows": all[..2], "next": "2"})
    } else {
        json!({"rows": all[2..], "next": null})
    }
}

/// Returns what the tool answers.
pub fn answer(call: &WorkerCall) -> ReplyOutcome {
    let first = |name: &str| argument(call, 0, name);
    ReplyOutcome::Return(match call.name.as_str() {
        "exchange_rate" => return exchange_rate(call),
        "anything" => return anything(call),
        "orders" => orders_of(first("customer")),
        "order" => orders()[0].clone(),
        "order_page" => page(first("cursor")),
        "customer" => customer(first("id")),
        "search" => search(first("query").as_str().unwrap_or_default()),
        "refund" => json!(true),
        "clean_orders" => json!({"cleaned": handle("cleaned.csv"), "dropped": 2}),
        "read_text" => json!("{\"values\": [1, 2, 3]}"),
        "sample_file" => handle("orders.csv"),
        "stock" => json!({"a": 10, "b": 2}),
        "send_mail" => Value::Null,
        other => return raise("RuntimeError", &format!("there is no tool {other}")),
    })
}
