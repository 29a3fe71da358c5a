//! Complete clients for the page, which visitors copy, save and run unchanged.

use super::escape;

const JAVASCRIPT: &str = include_str!("pay.mjs");
const PYTHON: &str = include_str!("pay.py");

/// The server address in the snippets.
const BASE: &str = "http://127.0.0.1:8402";

/// The section of the page.
pub(super) fn section(base: &str) -> String {
    let shown = |snippet: &str| escape(snippet.replace(BASE, base).trim_end());
    format!(
        "<h2 id=\"clients\">Pay from code</h2>\n\
         <p>JavaScript: <code>npm install @x402/fetch @x402/evm viem</code>, save as <code>pay.mjs</code>, run \
         <code>BUYER_KEY=0x… node pay.mjs</code>. One click selects all of it.</p>\n\
         <pre class=\"copy\"><code>{}</code></pre>\n\
         <p>Python: <code>pip install 'x402[requests,evm]'</code>, save as <code>pay.py</code>, run \
         <code>BUYER_KEY=0x… python pay.py</code>.</p>\n\
         <pre class=\"copy\"><code>{}</code></pre>\n",
        shown(JAVASCRIPT),
        shown(PYTHON),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_clients_shows_the_same_ones() {
        let paying = include_str!("../../../../docs/PAYING.md");
        for snippet in [JAVASCRIPT, PYTHON] {
            assert!(paying.contains(snippet), "{snippet}");
        }
    }

    #[test]
    fn snippets_ask_the_server_of_their_page() {
        let section = section("https://api.example.com");
        assert!(!section.contains("127.0.0.1"), "{section}");
        assert!(section.contains("https://api.example.com/price?token="));
    }
}
