//! `GET /`: the page for people. It is rendered once from the catalog and runs no script.

mod snippets;

use std::fmt::Write as _;

use data_sources::attributions;
use http::header::{self, HeaderMap, HeaderValue};
use route_catalog::{Catalog, ExampleCall, Group, Operation, Presence, Route, Unserved, dollars};
use serde_json::Value;

const STYLE: &str = include_str!("page/style.css");
pub(crate) const ICON_SVG: &[u8] = include_bytes!("page/icon.svg");
pub(crate) const ICON_ICO: &[u8] = include_bytes!("page/favicon.ico");

/// A longer sample answer is shown in OpenAPI only.
const LONGEST_SAMPLE: usize = 6_000;

/// Renders the page: the offer, the prices, a sample answer, and how to pay.
pub(crate) fn render(catalog: &Catalog) -> String {
    let brand = escape(catalog.brand());
    let base = escape(catalog.base_url());
    let network = escape(&catalog.network_name());
    let counts = route_catalog::Counts::of_table();
    let price = Operation::Price.route();
    let target = escape(&price.example_call().target);
    let mut page = format!(
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{brand}: pay-per-call market data</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<style>{STYLE}</style>
</head>
<body>
<main>
<h1><img src="/icon.svg" alt="" width="40" height="40"> {brand}</h1>
<p class="lead">Market, token, DeFi, news, derivatives, macro, AI and wallet data for agents.
You pay for each call separately, on {network}, with <a href="https://www.x402.org">x402</a> v2.
No account, no key, no subscription. A call without an answer is not charged.</p>
<p class="links"><a href="/openapi.json">OpenAPI</a> <a href="/llms.txt">llms.txt</a>
<a href="/.well-known/x402">x402 discovery</a> <a href="/status">status</a> <a href="/freshness">freshness</a>{contact}</p>
<h2 id="try">Try it</h2>
<pre class="copy"><code>curl -i '{base}{target}'</code></pre>
<p>The answer is a 402 with six ways to pay ({price_text}). Sign one, send the same request again with the header
<code>PAYMENT-SIGNATURE</code>, and the answer comes with a receipt:</p>
<pre><code>{sample}</code></pre>
<p>The same payment can be sent again: it gets the same answer and is charged only once. If something goes wrong, the
answer's member <code>next</code> says what to do: <code>send_same_again</code>, <code>look_up</code> or <code>wait</code>.
To look up the state of a payment for free, get <code>{base}/payments/ASSET/PAYER/NONCE</code>. Sign a new payment only
when <code>next</code> is <code>sign_new</code>, because an earlier payment may still be charged.</p>
"##,
        contact = contact(catalog),
        price_text = dollars(price.price),
        sample = escape(&sample(price)),
    );
    page.push_str(&assets(catalog, &network));
    page.push_str(&snippets::section(catalog.base_url()));
    let _ = writeln!(
        page,
        "<h2 id=\"routes\">{} operations</h2>\n<nav>",
        counts.operations
    );
    for group in Group::ALL {
        let _ = writeln!(
            page,
            "<a href=\"#{}\">{}</a>",
            group.slug(),
            escape(group.title())
        );
    }
    page.push_str("</nav>\n");
    for group in Group::ALL {
        let _ = writeln!(
            page,
            "<section id=\"{}\">\n<h3>{}</h3>",
            group.slug(),
            escape(group.title())
        );
        for operation in group.operations() {
            route(&mut page, catalog, operation);
        }
        page.push_str("</section>\n");
    }
    page.push_str("<footer><p>Sources: ");
    for (index, source) in attributions().enumerate() {
        let separator = if index == 0 { "" } else { " \u{b7} " };
        let _ = write!(
            page,
            "{separator}<a href=\"{}\">{}</a>",
            escape(source.url),
            escape(source.text)
        );
    }
    page.push_str("</p></footer>\n</main>\n</body>\n</html>\n");
    page
}

/// A link to the service's operator.
fn contact(catalog: &Catalog) -> String {
    let Some(contact) = catalog.contact() else {
        return String::new();
    };
    let scheme = match contact.starts_with("http") {
        true => "",
        false => "mailto:",
    };
    format!(" <a href=\"{scheme}{0}\">contact</a>", escape(contact))
}

/// Lists the tokens by name, and the schemes that cannot be paid.
fn assets(catalog: &Catalog, network: &str) -> String {
    let mut text = format!(
        "<h2 id=\"assets\">Assets</h2>\n<p>Three dollar tokens on {network}, each with six decimals:</p>\n<ul class=\"assets\">\n"
    );
    for asset in catalog.assets() {
        let _ = writeln!(
            text,
            "<li><b>{}</b> <code>{}</code></li>",
            escape(&asset.name),
            asset.address
        );
    }
    text.push_str("</ul>\n");
    for scheme in &catalog.offered().unpayable {
        let _ = writeln!(
            text,
            "<p class=\"note\">The options with scheme <code>{}</code> cannot be paid on this server: take one with another \
             scheme.</p>",
            scheme.as_str()
        );
    }
    text
}

/// Renders one operation: a line that opens to its parameters, an example request and a sample
/// answer.
fn route(page: &mut String, catalog: &Catalog, operation: Operation) {
    let route = operation.route();
    let unserved = catalog.offered().of(operation);
    let ExampleCall { target, body, .. } = route.example_call();
    let (base, method) = (catalog.base_url(), route.method);
    // Writing to a `String` cannot fail.
    let _ = write!(
        page,
        r##"<details id="{name}"{off}><summary><span class="method {class}">{method}</span> <code>{path}</code> <span class="price">{price}</span> <span class="what">{summary}{mark}</span></summary>
<p>{description}{slowness} Refused uncharged when {refuses}.</p>
{reason}{parameters}<pre class="copy"><code>{curl}</code></pre>
"##,
        name = operation.name(),
        off = if unserved.is_some() {
            " class=\"off\""
        } else {
            ""
        },
        class = method.as_str().to_ascii_lowercase(),
        path = escape(route.path),
        price = dollars(route.price),
        summary = escape(route.summary),
        mark = if unserved.is_some() {
            " (not served here)"
        } else {
            ""
        },
        description = escape(route.description),
        slowness = route
            .slowness()
            .map_or_else(String::new, |slowness| format!(" {slowness}")),
        refuses = escape(route.refuses),
        reason = unserved.map_or_else(String::new, why),
        parameters = parameters(route),
        curl = escape(&match route.takes_body() {
            true => format!(
                "curl -i -X {method} -H 'content-type: application/json' -d '{body}' '{base}{target}'"
            ),
            false if method.as_str() == "GET" => format!("curl -i '{base}{target}'"),
            false => format!("curl -i -X {method} '{base}{target}'"),
        }),
    );
    let sample = sample(route);
    match sample.len() <= LONGEST_SAMPLE {
        true => {
            let _ = writeln!(page, "<pre><code>{}</code></pre>", escape(&sample));
        }
        false => page.push_str(
            "<p>A complete sample answer of this route is in <a href=\"/openapi.json\">OpenAPI</a>.</p>\n",
        ),
    }
    page.push_str("</details>\n");
}

fn why(unserved: &Unserved) -> String {
    format!("<p class=\"note\">{}.</p>\n", escape(&unserved.sentence()))
}

fn parameters(route: &Route) -> String {
    let mut members = route.query.iter().chain(route.body).peekable();
    if members.peek().is_none() {
        return String::new();
    }
    let mut list = String::from("<ul>\n");
    for parameter in members {
        let presence = match parameter.presence {
            Presence::Required => "required".to_owned(),
            Presence::Optional => "optional".to_owned(),
            Presence::Default(text) => format!("default {text}"),
        };
        let _ = writeln!(
            list,
            "<li><code>{}</code> ({}): {}</li>",
            escape(parameter.name),
            escape(&presence),
            escape(parameter.description)
        );
    }
    list.push_str("</ul>\n");
    list
}

/// The `data` of a recorded answer, with one element of each list.
fn sample(route: &Route) -> String {
    // A test of the catalog parses every example.
    let data: Value = serde_json::from_str(route.example).unwrap_or(Value::Null);
    format!("{:#}", serde_json::json!({ "data": data }))
}

/// Sets headers so that the page runs no script and loads nothing but its icon.
pub(crate) fn secure(headers: &mut HeaderMap) {
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
        ),
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
