//! Rules for whether a failed try is repeated, and after how long: decisions only, no waiting.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// Number and pace of the repeats of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all, the first included.
    pub max_tries: u32,
    /// Pause after the first failed try; doubles with each further one.
    pub first_pause: Duration,
    /// Longest pause that is chosen here; a server may ask for a longer one.
    pub longest_pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_tries: 5,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
        }
    }
}

impl RetryPolicy {
    /// Pause after `tries` failed tries (at least 1). `jitter` is a random number from 0 to 1: it takes up to half off a
    /// pause of our own choice, and adds up to a tenth to one that the server asked for.
    #[must_use]
    pub fn pause(&self, tries: u32, retry_after: Option<Duration>, jitter: f64) -> Duration {
        if let Some(asked) = retry_after {
            // Never shorter than the server asked, and a little longer, so that not all clients come back at the same moment.
            return asked.saturating_add(asked.min(Duration::from_hours(1)).mul_f64(0.1 * jitter));
        }
        // No shift overflows, and the longest pause is far below.
        let doublings = tries.saturating_sub(1).min(16);
        let pause = self
            .first_pause
            .saturating_mul(1 << doublings)
            .min(self.longest_pause);
        pause.mul_f64(1.0 - 0.5 * jitter)
    }
}

/// Reports whether a later try may get another answer than this status.
#[must_use]
pub fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}

/// Reports whether a model may have worked for an answer of such a status. A gateway that gave up waiting says nothing of the model behind
/// it; every other fault is an answer in the place of the model's, unless it counts tokens.
#[must_use]
pub fn may_be_billed(status: u16, body: &[u8]) -> bool {
    let body: Option<Value> = serde_json::from_slice(body).ok();
    let usage = body.as_ref().and_then(|body| body.get("usage"));
    matches!(status, 408 | 504 | 524) || usage.is_some_and(Value::is_object)
}

/// The pause that the server asks for: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date.
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    if let Some(milliseconds) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    // A date that has passed asks for no pause.
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};
    use rstest::rstest;

    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))])
    }

    #[rstest]
    #[case::seconds("retry-after", "7", Some(7_000))]
    #[case::fraction("retry-after", "0.25", Some(250))]
    #[case::milliseconds("retry-after-ms", "1500", Some(1_500))]
    #[case::date("retry-after", "Thu, 01 Jan 1970 00:01:40 GMT", Some(40_000))]
    #[case::date_in_the_past("retry-after", "Thu, 01 Jan 1970 00:00:10 GMT", Some(0))]
    #[case::negative("retry-after", "-3", None)]
    #[case::infinite("retry-after", "inf", None)]
    #[case::nonsense("retry-after", "soon", None)]
    #[case::absent("x-other", "7", None)]
    fn the_pause_that_a_server_asks_for_is_read(
        #[case] name: &'static str,
        #[case] value: &'static str,
        #[case] milliseconds: Option<u64>,
    ) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_mins(1);
        assert_eq!(
            retry_after(&headers(name, value), now),
            milliseconds.map(Duration::from_millis)
        );
    }

    #[test]
    fn pauses_double_up_to_a_bound_and_jitter_shortens_them() {
        let policy = RetryPolicy::default();
        let pauses: Vec<_> = (1..=8)
            .map(|tries| policy.pause(tries, None, 0.0).as_millis())
            .collect();
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000]);
        assert_eq!(policy.pause(1, None, 1.0), Duration::from_millis(250));
        assert_eq!(policy.pause(u32::MAX, None, 0.0), Duration::from_secs(20));
    }

    #[test]
    fn a_pause_that_the_server_asks_for_is_never_shortened() {
        let asked = Some(Duration::from_secs(30));
        assert_eq!(
            RetryPolicy::default().pause(1, asked, 0.0),
            Duration::from_secs(30)
        );
        assert_eq!(
            RetryPolicy::default().pause(1, asked, 1.0),
            Duration::from_secs(33)
        );
    }

    #[rstest]
    fn overload_and_server_faults_are_transient(#[values(408, 429, 500, 502, 503, 529)] status: u16) {
        assert!(is_transient(status));
    }

    #[rstest]
    #[case::turned_away(429, r#"{"error": {"message": "slow down"}}"#, false)]
    #[case::out_of_order(503, "", false)]
    #[case::no_server_behind_the_gateway(502, "<html>", false)]
    #[case::overloaded(529, r#"{"usage": null}"#, false)]
    #[case::with_tokens(503, r#"{"usage": {"prompt_tokens": 7}}"#, true)]
    #[case::a_gateway_that_gave_up(504, "", true)]
    #[case::a_proxy_that_gave_up(524, "", true)]
    fn a_fault_is_billed_where_it_counts_tokens_or_a_gateway_gave_up_waiting(
        #[case] status: u16,
        #[case] body: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(may_be_billed(status, body.as_bytes()), expected);
    }

    #[rstest]
    fn rejections_are_final(#[values(400, 401, 402, 403, 404, 413, 422)] status: u16) {
        assert!(!is_transient(status));
    }
}
