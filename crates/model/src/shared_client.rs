//! A client of HTTP that calls share: one that speaks TLS reads the certificates of the system, which takes 30 ms.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Client;

/// A client that is older is made anew, with the certificates that the system has then.
const LASTS: Duration = Duration::from_mins(5);

/// Keeps the client of all https endpoints behind one gate. It keeps no connection.
#[derive(Clone, Debug, Default)]
pub struct SharedClient(Arc<Mutex<Option<(Instant, Client)>>>);

impl SharedClient {
    /// The client that was made last, or what `make` makes `now`.
    pub fn get<E>(&self, now: Instant, make: impl FnOnce() -> Result<Client, E>) -> Result<Client, E> {
        // Held while one is made: others want the same.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, client)) = &*kept
            && now.duration_since(*made) < LASTS
        {
            return Ok(client.clone());
        }
        let client = make()?;
        *kept = Some((now, client.clone()));
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use codegen_egress::client_to;

    #[test]
    fn a_client_is_made_once_for_all_calls_of_some_minutes() {
        let shared = SharedClient::default();
        let (url, begin) = ("http://127.0.0.1".parse().unwrap(), Instant::now());
        let mut count = 0;
        for (minutes, expected) in [(0, 1), (4, 1), (6, 2), (7, 2)] {
            let make = || {
                count += 1;
                Ok::<_, Infallible>(client_to(None, &url).build().unwrap())
            };
            let now = begin + Duration::from_mins(minutes);
            shared.clone().get(now, make).unwrap();
            assert_eq!(count, expected, "after {minutes} minutes");
        }
    }
}
