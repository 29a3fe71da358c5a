//! Decides whether a payment was made for this request (x402 v2 `resource`; "resource mismatch").

/// Whether the URL in a payment means the URL of this request.
///
/// Path and query decide. The origin does not: a client may see another origin behind a proxy or
/// under another name of the service, and the payee binds a payment to the seller.
pub(crate) fn is_same(paid_for: &str, requested: &str) -> bool {
    path_and_query(paid_for) == path_and_query(requested)
}

fn path_and_query(url: &str) -> &str {
    let without_fragment = url.split_once('#').map_or(url, |(before, _)| before);
    let after_scheme = match without_fragment.split_once("://") {
        Some((_, rest)) => rest,
        // The text is a bare path already.
        None => return without_fragment,
    };
    after_scheme
        .find(['/', '?'])
        .and_then(|start| after_scheme.get(start..))
        .unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_and_query_decide() {
        let requested = "https://api.example.test/price?token=0x1";
        for same in [
            requested,
            "http://127.0.0.1:8402/price?token=0x1",
            "/price?token=0x1",
            "https://api.example.test/price?token=0x1#part",
        ] {
            assert!(is_same(same, requested), "{same}");
        }
        for other in [
            "https://api.example.test/price?token=0x2",
            "https://api.example.test/price",
            "https://api.example.test/price/?token=0x1",
            "https://api.example.test/swap",
            "https://api.example.test",
            "",
        ] {
            assert!(!is_same(other, requested), "{other}");
        }
    }
}
