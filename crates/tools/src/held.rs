//! Validation of values against schemas, beside the threads that serve everybody.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use codegen_code_mode::faults::{HeldTo, ValueFault};

/// Threads that compute at once.
const PLACES: usize = 4;
static FREE: Semaphore = Semaphore::const_new(PLACES);

/// Does what is bounded and may take seconds on a thread of its own. None where it has not ended by `deadline`: it goes on, and holds its place
/// until then.
pub async fn computed<T: Send + 'static>(
    deadline: Instant,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let place = timeout_at(deadline, FREE.acquire()).await.ok()?.ok()?;
    let work = spawn_blocking(move || {
        let _place = place;
        work()
    });
    timeout_at(deadline, work).await.ok()?.ok()
}

/// The first of `values` that a schema allows, or what is wrong with the first one. None is no schema, which allows everything.
pub(super) async fn first_allowed(
    schema: impl FnOnce() -> Option<Arc<HeldTo>> + Send + 'static,
    values: Vec<Value>,
    deadline: Instant,
) -> Result<Value, String> {
    let allowed = computed(deadline, move || choose(schema().as_deref(), values)).await;
    allowed.unwrap_or_else(|| Err("it could not be compared with it in time".to_owned()))
}

fn choose(schema: Option<&HeldTo>, values: Vec<Value>) -> Result<Value, String> {
    let mut first = None;
    for value in values {
        match schema.and_then(|schema| fault(schema, &value)) {
            None => return Ok(value),
            Some(fault) => first = first.or(Some(fault)),
        }
    }
    Err(first.unwrap_or_default())
}

/// Describes the fault in `value`: where in it, what, and by which part of the schema.
fn fault(schema: &HeldTo, value: &Value) -> Option<String> {
    let error = match schema.faults(value, 1).into_iter().next()? {
        ValueFault::There(error) => error,
        ValueFault::Somewhere => {
            let said = "none of the alternatives fits that the schema gives, and it is too long to say where";
            return Some(said.to_owned());
        }
        ValueFault::TooLong => {
            let said = "it is too long to be compared with a schema of that size: ask it for less at a time";
            return Some(said.to_owned());
        }
    };
    let at = |path: &str| match path {
        "" => "the top".to_owned(),
        path => format!("`{path}`"),
    };
    Some(format!(
        "at {}: {} (schema {})",
        at(error.instance_path().as_str()),
        error.masked(),
        at(error.schema_path().as_str())
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_names_its_place_in_the_value_and_in_the_schema() {
        let schema = json!({
            "type": "object",
            "properties": {"rates": {"type": "array", "items": {"type": "number"}}},
        });
        let schema = HeldTo::new(&schema).unwrap();
        assert_eq!(fault(&schema, &json!({"rates": [1.5, 2]})), None);
        assert_eq!(
            fault(&schema, &json!({"rates": [1.5, "two"]})).unwrap(),
            "at `/rates/1`: value is not of type \"number\" (schema `/properties/rates/items/type`)"
        );
        assert!(fault(&schema, &json!([])).unwrap().starts_with("at the top: "));
    }

    #[test]
    fn a_schema_at_another_address_is_not_fetched_and_allows_anything() {
        let schema = HeldTo::new(&json!({"$ref": "https://example.com/schema.json"})).unwrap();
        assert_eq!(fault(&schema, &json!(1)), None);
    }

    #[test]
    fn of_what_a_reply_may_be_the_first_is_taken_that_its_schema_allows() {
        let number = HeldTo::new(&json!({"type": "number"})).unwrap();
        let either = vec![json!("7.5"), json!(7.5)];
        assert_eq!(choose(Some(&number), either.clone()), Ok(json!(7.5)));
        assert_eq!(choose(None, either), Ok(json!("7.5")));
        let fault = choose(Some(&number), vec![json!("a"), json!(null)]).unwrap_err();
        assert!(fault.starts_with("at the top: "), "{fault}");
    }

    #[tokio::test]
    async fn what_is_computed_for_a_stranger_takes_no_thread_of_others_and_is_waited_for_no_longer_than_its_time()
     {
        let (release, held) = std::sync::mpsc::channel::<()>();
        let deadline = Instant::now() + Duration::from_millis(10);
        // The one thread of this runtime goes on although the work does not end.
        assert_eq!(computed(deadline, move || held.recv().is_ok()).await, None);
        release.send(()).unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        assert_eq!(computed(deadline, || 1).await, Some(1));
    }
}
