//! `GET /`: the page for people.

use std::fmt::Write as _;

use http::header::{self, HeaderMap, HeaderValue};
use route_catalog::{Catalog, Operation, Route};

const STYLE: &str = include_str!("page/style.css");

/// The page: what is sold, for how much, and how to pay.
pub(crate) fn render(catalog: &Catalog) -> String {
    let mut rows = String::new();
    for route in Operation::ALL.iter().map(|operation| operation.route()) {
        row(&mut rows, route);
    }
    let brand = escape(catalog.brand());
    let base = escape(catalog.base_url());
    let counts = route_catalog::Counts::of_table();
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{brand}: pay-per-call market data</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{brand}</h1>
<p class="lead">Market, token, DeFi, news, derivatives, macro, AI and wallet data for agents.
Every call is paid by itself on chain 196 with <a href="https://www.x402.org">x402</a> v2.
No account, no key, no subscription. An answer that cannot be given is not charged.</p>
<h2>Try it</h2>
<pre><code>curl -i {base}/price?token=0xe538905cf8410324e03A5A23C1c177a474D59b2b</code></pre>
<p>The answer is a 402 with six ways to pay. Sign one, send the same request again with the header
<code>PAYMENT-SIGNATURE</code>, and the answer comes with a receipt. Sending the same payment again gives the same answer
and charges nothing.</p>
<p>If something goes wrong, the answer's member <code>next</code> says what to do: <code>send_same_again</code>,
<code>look_up</code> or <code>wait</code>. Where a payment stands is free to ask:
<code>{base}/payments/ASSET/PAYER/NONCE</code>. Sign a new payment only when told <code>sign_new</code>: an earlier one may
still be charged.</p>
<p class="links"><a href="/openapi.json">OpenAPI</a> <a href="/llms.txt">llms.txt</a>
<a href="/.well-known/x402">x402 discovery</a> <a href="/status">status</a> <a href="/freshness">freshness</a></p>
<h2>{operations} operations</h2>
<div class="table"><table>
<thead><tr><th scope="col">Call</th><th scope="col">Price</th><th scope="col">What it answers</th></tr></thead>
<tbody>
{rows}</tbody>
</table></div>
</main>
</body>
</html>
"#,
        operations = counts.operations,
    )
}

fn row(rows: &mut String, route: &Route) {
    let method = route.method;
    let (path, summary) = (escape(route.path), escape(route.summary));
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        rows,
        r#"<tr><td><span class="method {class}">{method}</span> <code>{path}</code></td><td class="price">${price}</td><td>{summary}</td></tr>"#,
        class = method.as_str().to_ascii_lowercase(),
        price = route.price,
    );
}

/// The page runs no script and loads nothing.
pub(crate) fn secure(headers: &mut HeaderMap) {
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
