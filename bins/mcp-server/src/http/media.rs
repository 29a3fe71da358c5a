//! Reads `Content-Type` and `Accept`.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};

/// Whether one `Content-Type` declares the body as JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    value
        .to_str()
        .is_ok_and(|value| essence(value).eq_ignore_ascii_case("application/json"))
}

/// Whether the answer may be JSON. Clients have to accept both JSON and event streams; `curl`
/// accepts anything.
pub(crate) fn takes_json(headers: &HeaderMap) -> bool {
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter(|range| !range.trim().is_empty())
        .peekable();
    if ranges.peek().is_none() {
        return true;
    }
    ranges.any(|range| {
        let matches = ["application/json", "application/*", "*/*"]
            .iter()
            .any(|json| essence(range).eq_ignore_ascii_case(json));
        matches && !is_excluded(range)
    })
}

fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

/// Whether a media range has the quality 0, in any spelling of zero.
fn is_excluded(range: &str) -> bool {
    range.split(';').skip(1).any(|parameter| {
        let quality = parameter.trim().strip_prefix(['q', 'Q']);
        let quality = quality.and_then(|rest| rest.trim_start().strip_prefix('='));
        quality.is_some_and(|quality| {
            let digits = quality.trim();
            digits.starts_with('0') && digits.bytes().all(|byte| matches!(byte, b'0' | b'.'))
        })
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(name: http::HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(&name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_body_is_announced_as_json() {
        for value in [
            "application/json",
            "application/json; charset=utf-8",
            "APPLICATION/JSON;x",
        ] {
            assert!(is_json(&headers(CONTENT_TYPE, &[value])), "{value}");
        }
        for values in [
            &[][..],
            &["text/plain"],
            &["application/jsonp"],
            &["application/x-www-form-urlencoded"],
            &["text/plain, application/json"],
            &["application/json", "application/json"],
        ] {
            assert!(!is_json(&headers(CONTENT_TYPE, values)), "{values:?}");
        }
    }

    #[test]
    fn json_is_served_unless_it_is_excluded() {
        for values in [
            &[][..],
            &[""],
            &["*/*"],
            &["application/*"],
            &["application/json"],
            &["application/json, text/event-stream"],
            &["text/event-stream", "application/json"],
            &["text/html, */*;q=0.1"],
            &["Application/JSON ; q=0.001"],
        ] {
            assert!(takes_json(&headers(ACCEPT, values)), "{values:?}");
        }
        for values in [
            &["text/event-stream"][..],
            &["text/html"],
            &["application/json;q=0"],
            &["application/json; q=0.000, text/*"],
        ] {
            assert!(!takes_json(&headers(ACCEPT, values)), "{values:?}");
        }
    }
}
