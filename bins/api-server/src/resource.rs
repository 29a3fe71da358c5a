//! Decides whether a payment was made for this request (x402 v2 `resource`; "resource mismatch").

/// Whether the URL in a payment means the URL of this request.
///
/// The path decides, and the query if the payment names one. A client may have copied the resource
/// from a challenge that it got before it knew the parameters. The origin does not decide: a client
/// may see another origin behind a proxy or under another name of the service. The payee binds a
/// payment to the seller, and the ledger binds it to the whole request.
pub(crate) fn is_same(paid_for: &str, requested: &str) -> bool {
    let (paid_path, paid_query) = path_and_query(paid_for);
    let (path, query) = path_and_query(requested);
    paid_path == path && (paid_query.is_empty() || paid_query == query)
}

fn path_and_query(url: &str) -> (&str, &str) {
    let without_fragment = url.split_once('#').map_or(url, |(before, _)| before);
    let target = match without_fragment.split_once("://") {
        Some((_, rest)) => rest
            .find(['/', '?'])
            .and_then(|start| rest.get(start..))
            .unwrap_or_default(),
        // The text is a bare path already.
        None => without_fragment,
    };
    target.split_once('?').unwrap_or((target, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_and_a_named_query_decide() {
        let requested = "https://api.example.test/price?token=0x1";
        for same in [
            requested,
            "http://127.0.0.1:8402/price?token=0x1",
            "/price?token=0x1",
            "https://api.example.test/price?token=0x1#part",
            "https://api.example.test/price",
            "https://api.example.test/price?",
            "/price",
        ] {
            assert!(is_same(same, requested), "{same}");
        }
        for other in [
            "https://api.example.test/price?token=0x2",
            "https://api.example.test/price?token=0x1&max_age=60",
            "https://api.example.test/price/?token=0x1",
            "https://api.example.test/swap",
            "https://api.example.test",
            "",
        ] {
            assert!(!is_same(other, requested), "{other}");
        }
        let (bare, queried) = ("https://api.example.test/swap", "/swap?max_age=60");
        assert!(is_same("/swap", bare) && !is_same(queried, bare));
    }
}
