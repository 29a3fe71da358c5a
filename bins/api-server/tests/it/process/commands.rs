//! Tests of commands and their exit codes.

use std::net::TcpListener;

use crate::process::demo_page;
use crate::process::server::run;

#[test]
fn the_catalog_is_listed() {
    let output = run(&["routes", "--json"], &[]);
    let routes = output.ok().json();
    assert_eq!(
        [
            &routes["operations"],
            &routes["paths"],
            &routes["resources"]
        ],
        [45, 43, 42]
    );
    assert_eq!(routes["routes"].as_array().unwrap().len(), 45);

    let output = run(&["routes"], &[]);
    let table = &output.ok().stdout;
    assert!(table.contains("/hyperliquid-market"), "{table}");
    assert!(
        table
            .trim_end()
            .ends_with("45 operations, 43 paths, 42 resources"),
        "{table}"
    );

    let output = run(
        &["openapi", "--public-url", "https://api.example.test"],
        &[],
    );
    let document = output.ok().json();
    assert_eq!(document["servers"][0]["url"], "https://api.example.test");
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    assert_eq!(
        operations
            .filter(|found| found.get("x-payment-info").is_some())
            .count(),
        45
    );
}

#[test]
fn the_demo_shows_its_steps_and_ends() {
    let output = run(&["demo", "--listen", "127.0.0.1:0", "--once"], &[]);
    let (stdout, stderr) = (output.stdout, output.stderr);
    assert_eq!(output.code, 0, "{stderr}");
    let headings: Vec<&str> = stdout
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    assert_eq!(headings.len(), 15, "{stdout}");
    for (number, heading) in (1..).zip(&headings) {
        assert!(heading.starts_with(&format!("{number}. ")), "{heading}");
    }
    assert_eq!(stdout.matches("eip155:196").count(), 6);
    assert!(stdout.contains("1000.000000 -> 999.998000"), "{stdout}");
    assert!(stdout.contains("(replay)"), "{stdout}");
    // The steps about the fence: it sends a plan, continues an interrupted one, clears an
    // allowance, and shows the log.
    assert_eq!(
        headings[5..],
        [
            "6. A grant, signed offline by its owner",
            "7. A plan, and the agent's order for it",
            "8. Three steps, each in a sealed block before the next",
            "9. The owner ends it in the middle of a second plan",
            "10. The grant's log, verified offline",
            "11. POST /auto-defi-invest without funds",
            "12. The same with principal_auth (EIP-3009), signed by the owner",
            "13. POST /auto-defi-withdraw, all of it",
            "14. POST /auto-swap, 50 USDG for USD₮0",
            "15. POST /auto-withdraw, to the owner only",
        ]
    );
    for part in [
        "   201 active\n",
        "   dry run      admitted, nothing sent\n",
        "   approve_reset success 0x",
        "   call          success 0x",
        "   balance      1000.000000 USDC\n",
        "   balance      800.000000 USDC\n",
        "   allowance    200.000000 USDC, when the owner signs\n",
        "   halted_clean at ",
        "   balance      800.000000 USDC: nothing was swapped\n",
        "   log          verified: ",
        "   403 grant_revoked\n",
        "   409          funds_required, nothing was charged\n",
        "   missing      100 USDG\n",
        "   principal    0x",
        "   position     100.00000", // and the interest of some seconds
        "   out          100",
        "   delivered    50",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert_eq!(
        stdout.matches("   allowance    0, read back\n").count(),
        2,
        "{stdout}"
    );
    demo_page::assert_shown(&stdout);
    // Standard error has one line for scripts, and no warning.
    assert!(
        stderr.starts_with("listening on http://127.0.0.1:"),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn a_demo_on_a_busy_port_says_so() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&["demo", "--listen", &address, "--once"], &[]);
    output.error(1, &[&address, "ddress already in use"]);
}

#[test]
fn help_tells_every_command() {
    let mut help = String::new();
    for command in [
        "",
        "serve",
        "demo",
        "routes",
        "openapi",
        "check-config",
        "ledger",
        "ledger list",
        "ledger show",
        "ledger export",
        "ledger stats",
        "ledger reconcile",
        "ledger resolve",
        "ledger import",
        "wallets",
        "wallets list",
        "wallets check",
        "wallets rotate",
        "wallets adopt",
    ] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let output = run(&arguments, &[]);
        let line = arguments.join(" ");
        help += &format!("$ api-server {line}\n{}\n", output.ok().stdout);
    }
    insta::assert_snapshot!(help);
}

#[test]
fn a_command_line_that_is_not_understood_is_usage() {
    for arguments in [
        &["server"][..],
        &["serve"],
        &["routes", "--yaml"],
        &["demo", "--listen", "x"],
    ] {
        run(arguments, &[]).error(2, &["--help"]);
    }
}
