//! Tests of unusable configurations: the messages name every key and show no secret.

use crate::process::server::{Configured, Environment, RECIPIENT, RECORDED_FEES, fees, run};

/// Stands for a secret, which must never be printed.
const MARKER: &str = "5ec2e7d00dfeed5ec2e7";

/// Asserts that no command accepts a configuration, and that each names the reasons.
fn assert_refused(file: &str, environment: Environment<'_>, says: &[&str]) {
    refuses(&Configured::new(file), environment, says);
}

fn refuses(configured: &Configured, environment: Environment<'_>, says: &[&str]) {
    for command in ["serve", "stdio", "check-config"] {
        let output = configured.run(command, environment);
        output.error(2, says);
        let stderr = output.stderr;
        assert!(stderr.starts_with("mcp-server: "), "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(!stderr.contains(MARKER), "{stderr}");
    }
}

#[test]
fn a_key_that_cannot_be_used_is_named() {
    for (line, says) in [
        (
            "plans.swap_valid_second = 60",
            "plans.swap_valid_second: unknown field",
        ),
        ("plan.swap_valid_seconds = 60", "plan: unknown field"),
        (
            "plans.swap_valid_seconds = 29",
            "plans.swap_valid_seconds: expected 30 to 600",
        ),
        (
            "plans.price_source = 'defillama'",
            "plans.price_source: no such key: the sources of prices are worth.chains.N.independent",
        ),
        ("worth.agree = 1", "worth.agree: expected at least 2"),
        (
            "worth.chains.8453.independent = ['lifi']",
            "worth.chains.8453.independent: lifi quotes swaps",
        ),
        (
            "plans.bridge_valid_seconds = 601",
            "plans.bridge_valid_seconds: expected 30 to 600",
        ),
        (
            "plans.pm_order_valid_seconds = 0",
            "plans.pm_order_valid_seconds: expected 30 to 600",
        ),
        (
            "plans.perp_order_valid_seconds = -1",
            "plans.perp_order_valid_seconds: ",
        ),
        (
            "plans.calls_per_second = 0",
            "plans.calls_per_second: expected at least 1",
        ),
        (
            "plans.calls_burst = 0",
            "plans.calls_burst: expected at least 1",
        ),
        ("plans.calls_in_flight = 'many'", "plans.calls_in_flight: "),
        (
            "plans.shares.swap.address = 2",
            "plans.shares.swap.address: expected at least 3",
        ),
        (
            "plans.shares.pm_order.pool = 6",
            "plans.shares.pm_order.pool: expected at least 7",
        ),
        (
            "plans.shares.bridge.pool_per_hour = 0",
            "plans.shares.bridge.pool_per_hour: expected at least 1",
        ),
        (
            "server.client_address_header = 'Forwarded'",
            "server.client_address_header: expected the name of a header",
        ),
        (
            "plans.brand = 'Acme'",
            "plans.brand: expected 1 to 32 characters",
        ),
        (
            "plans.brand = ''",
            "plans.brand: expected 1 to 32 characters",
        ),
        (
            "server.brand = '9lives'",
            "server.brand: expected 1 to 32 characters",
        ),
        (
            "upstreams.hyperliquid.base_url = 'https://api.hyperliquid-testnet.xyz'",
            "upstreams.hyperliquid.base_url: the test network cannot be used",
        ),
        ("server.listen = 'nowhere'", "server.listen: "),
        (
            "server.public_url = 'mcp.example.com'",
            "server.public_url: expected an http",
        ),
        (
            "upstreams.lify.enabled = false",
            "upstreams.lify: unknown upstream",
        ),
        (
            "upstreams.lifi.base_url = 'li.quest'",
            "upstreams.lifi.base_url: expected an http",
        ),
        (
            "chains.base.rpc_urls = []",
            "chains.base: expected a chain id",
        ),
        (
            "chains.8453.rpc_urls = ['ws://x']",
            "chains.8453.rpc_urls[0]: expected an http",
        ),
        (
            "upstreams.lifi.base_url = 'http://li.quest/v1'",
            "upstreams.lifi.base_url: expected https://",
        ),
        (
            "chains.8453.rpc_urls = ['http://b.example']",
            "chains.8453.rpc_urls[0]: expected https://",
        ),
        (
            "outbound.allow_http_hosts = ['db:80']",
            "outbound.allow_http_hosts[0]: expected the name or the address of a host",
        ),
        ("log.format = 'xml'", "log.format: unknown variant"),
        ("payment = 1", "payment: "),
    ] {
        assert_refused(line, &[], &[says]);
    }
    assert_refused(
        "plans.swap_valid_seconds = 1\nserver.max_body_bytes = 0\nlog.filter = 'a=loud'",
        &[],
        &[
            "plans.swap_valid_seconds",
            "server.max_body_bytes",
            "log.filter",
        ],
    );
    assert_refused("[plans", &[], &["is not TOML: line 2"]);
}

#[test]
fn without_a_reviewed_fee_configuration_nothing_starts() {
    let good = fees();
    let fees = |says: &[&str], fees: &str| {
        let configured = Configured::with_fees("plans.fee_config = 'fees.toml'", fees);
        refuses(&configured, &[], says);
    };
    refuses(
        &Configured::with_fees("", ""),
        &[],
        &["plans.fee_config: is missing"],
    );
    refuses(
        &Configured::with_fees("plans.fee_config = 'none.toml'", ""),
        &[],
        &[
            "plans.fee_config: cannot read",
            "none.toml: entity not found",
        ],
    );
    fees(&["plans.fee_config: ", "fees.toml: line 1"], "version = ");
    fees(&["missing field `version`"], "");
    fees(
        &["line 2: unknown field `versions`"],
        &good.replacen("version", "versions", 1),
    );
    // What a swap may lose has another place now.
    for (key, place) in [
        (
            "max_price_impact_bps = 300",
            "max_price_impact_bps of [worth]",
        ),
        (
            "max_price_deviation_bps = 300",
            "max_deviation_bps of [worth]",
        ),
        ("price_required = false", "[worth]"),
    ] {
        let (name, _) = key.split_once(' ').unwrap();
        fees(
            &[&format!("swap.{name}: no such key: "), place],
            &format!("{good}\n[swap]\n{key}\n"),
        );
    }
    fees(
        &["aggregate_cap_bps: "],
        &good.replace("aggregate_cap_bps = 60", "aggregate_cap_bps = 54"),
    );
    // An operator cannot review a function that the decoders do not know.
    assert!(good.contains("selectors = [\"0x5fd9ae2e\"]"), "{good}");
    fees(
        &["chains[0].selectors: ", "functions that are implemented"],
        &good.replace(
            "selectors = [\"0x5fd9ae2e\"]",
            "selectors = [\"0x4630a0d8\"]",
        ),
    );
    // A relative path from the environment also starts at the folder of the configuration file.
    let output = Configured::with_fees("", &good)
        .run("check-config", &[("SVC__PLANS__FEE_CONFIG", "fees.toml")]);
    assert_eq!(output.code, 0, "{}", output.stderr);
}

#[test]
fn secrets_do_not_belong_in_the_file() {
    for key in [
        "upstreams.lifi.api_key",
        "settlement.private_key",
        "settlement.okx_secret_key",
    ] {
        let says = format!("{key}: a secret does not belong in this file");
        assert_refused(&format!("{key} = '{MARKER}'"), &[], &[&says]);
    }
    assert_refused(
        "",
        &[("SVC__PLANS", MARKER)],
        &["SVC__PLANS: expected SVC__SECTION__KEY"],
    );
    assert_refused(
        "",
        &[("SVC__UPSTREAMS__LIFI", MARKER)],
        &["upstreams.lifi: expected a section"],
    );
}

#[test]
fn a_file_of_both_servers_can_be_used_and_the_environment_wins() {
    let configured = Configured::new(
        "[server]\nlisten = 'nowhere'\n[payment]\npay_to = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'\n\
         [[payment.assets]]\nname = 'x'\n[settlement]\nmode = 'okx'\n[storage]\nurl = 'sqlite://x'\n",
    );
    let output = configured.run(
        "check-config",
        &[
            ("SVC__SERVER__LISTEN", "127.0.0.1:9999"),
            ("SVC__PLANS__BRAND", "acme"),
            ("SVC__PLANS__SWAP_VALID_SECONDS", "30"),
            ("SVC__UPSTREAMS__LIFI__API_KEY", MARKER),
            ("SVC__CHAINS__8453__RPC_URLS", "https://rpc.example/key"),
        ],
    );
    assert_eq!(output.code, 0, "{}", output.stderr);
    insta::assert_snapshot!(output.stdout, @r#"
    the configuration can be used: listening on 127.0.0.1:9999, tools named acme_…
      fees         version "2026-11-01", at most 60 bps together
      swaps        on chain 8453: 1 reviewed legs, 0 of them run code of the quote's choosing
      recipient    "own": 30 bps to 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
      recipient    "aggregator": 25 bps to 0xC06ebbefD94032B85424D51906e2A335EFAe264B
      builder      of prediction-market orders: 0x00000000000000000000000000000000000000000000000000000000feedface, at most 100 bps
      simulation   preferred; chains with a node: 8453
      builder      of perpetuals orders: 10 tenths of a bp to 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
      storage      quotas, budgets and shares are kept in x.rail.db
    "#);
    assert_eq!(output.stderr, "");
}

#[test]
fn an_empty_file_listens_on_the_documented_address() {
    let output = Configured::new("").run("check-config", &[]);
    assert!(
        output
            .stdout
            .contains("listening on 127.0.0.1:8403, tools named svc_…")
    );
}

#[test]
fn a_file_that_is_not_there_and_a_port_that_is_taken_are_named() {
    let output = run(&["serve", "--config", "/nowhere/mcp.toml"], &[]);
    assert_eq!(output.code, 2);
    assert!(
        output
            .stderr
            .contains("cannot read the configuration /nowhere/mcp.toml")
    );
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Configured::new("").run("serve", &[("SVC__SERVER__LISTEN", &address)]);
    assert_eq!(output.code, 2);
    let stderr = output.stderr;
    assert!(
        stderr.contains(&format!("server.listen: cannot listen on {address}")),
        "{stderr}"
    );
}

#[test]
fn recipients_that_cannot_be_meant_are_refused_by_their_keys() {
    let refused = |fees: &str, says: &[&str]| {
        let configured = Configured::with_fees("plans.fee_config = 'fees.toml'", fees);
        refuses(&configured, &[], says);
    };
    let own = RECIPIENT.to_string();
    // One digit of an address is wrong.
    let slip = own.replace("Aed", "Aee");
    refused(
        &fees().replace(&own, &slip),
        &[
            "recipients[0].address: expected 0x",
            "perpetuals.builder: expected 0x",
            &format!("observed {slip}"),
        ],
    );
    for (right, wrong, key) in [
        ("4EaE\"", "4EaF\"", "chains[0].router"),
        ("8cbd\"", "8cbe\"", "chains[0].forwarder"),
        ("0b75\"", "0b76\"", "chains[0].legs[0].contract"),
    ] {
        refused(
            &fees().replace(right, wrong),
            &[&format!("{key}: expected 0x")],
        );
    }
    // The keys of these accounts are public.
    for account in dev_chain::DEV_ACCOUNTS {
        let known = account.address.to_string();
        let says = [
            &*format!("recipients[0].address: {known} is an account of local test chains"),
            "perpetuals.builder: ",
        ];
        refused(&fees().replace(&own, &known), &says);
        refused(&fees().replace(&own, &known.to_lowercase()), &says);
    }
    refused(RECORDED_FEES, &["recipients[0].address: "]);
    let zero = format!("0x{}", "0".repeat(40));
    refused(
        &fees().replace(&own, &zero),
        &["recipients[0].address: ", "perpetuals.builder: "],
    );
    // This is the example file before its reader has entered an address.
    let example = include_str!("../../../../../docs/fees.example.toml");
    refused(
        example,
        &["recipients[0].address: expected an address of your own"],
    );
}
