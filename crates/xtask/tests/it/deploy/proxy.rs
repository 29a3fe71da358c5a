//! Tests of the configuration of the proxy.

use super::read;

/// Returns the directives, without comments.
fn caddyfile() -> String {
    let text = read("docs/deploy/caddy/Caddyfile");
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

/// The buffer reads the whole body, also when there is no instance to which it can be sent.
/// `handle_errors` would then send the call on without its body.
#[test]
fn only_the_last_proxy_reads_the_body_before_it_has_an_instance() {
    let text = caddyfile();
    let (first, last) = text.split_once("handle_errors 503").unwrap();
    assert!(first.contains("reverse_proxy api-1:8402 api-2:8402"));
    assert!(!first.contains("request_buffers"), "{first}");
    assert!(last.contains("request_buffers 64KiB"), "{last}");
}

/// Caddy logs the head of a call that fails.
#[test]
fn the_log_has_no_signature_of_a_payment() {
    let text = caddyfile();
    let log = text.split_once("log default {").unwrap().1;
    let log = log.split_once("servers {").unwrap().0;
    assert!(log.contains("request>headers>Payment-Signature delete"));
}

#[test]
fn prometheus_reads_the_metrics_of_the_proxy_and_the_port_is_not_public() {
    let scraped = read("docs/deploy/prometheus/prometheus.yml");
    assert!(scraped.contains("\"caddy:9180\""));
    assert!(caddyfile().contains(":9180 {\nmetrics /metrics\n}"));
    let compose = read("docs/deploy/compose.yaml");
    assert!(!compose.contains("9180:"));
}

/// Returns the directives of the configuration of nginx, without comments.
fn nginx() -> String {
    let text = read("docs/deploy/nginx/api-server.conf");
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// With nginx's own sizes (4 or 8 kB), most challenges and some payments are refused.
#[test]
fn nginx_has_room_for_challenges_and_payments() {
    let text = nginx();
    for directive in [
        "proxy_buffer_size 16k;",
        "proxy_busy_buffers_size 32k;",
        "large_client_header_buffers 4 32k;",
        "client_max_body_size 64k;",
    ] {
        assert!(text.contains(directive), "{directive}");
    }
    let opened = text.matches('{').count();
    assert_eq!(opened, text.matches('}').count());
}

/// A server that does not learn that a caller has gone counts its answer as delivered.
#[test]
fn nginx_ends_its_connection_when_the_caller_does_and_repeats_no_call() {
    let text = nginx();
    assert!(text.contains("proxy_ignore_client_abort off;"));
    assert!(text.contains("proxy_next_upstream off;"));
    assert!(text.contains("location ~ ^/(metrics|status|status/detail|readyz)$ {\nreturn 404;"));
}
