//! Tests of usage errors, which have exit code 2, and of the tool's help and version.

use test_support::process::run;

use crate::plan_verify::case::fence_cli;

#[test]
fn help_describes_the_whole_use() {
    let help = |arguments: &[&str]| {
        let ended = run(fence_cli().args(arguments).arg("--help"));
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
        ended.stdout
    };
    insta::assert_snapshot!("help", help(&[]));
    insta::assert_snapshot!("help_plan", help(&["plan"]));
    insta::assert_snapshot!("help_plan_verify", help(&["plan", "verify"]));
}

#[test]
fn the_version_is_the_package_version() {
    let ended = run(fence_cli().arg("--version"));
    let expected = format!("fence-cli {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((ended.code, ended.stdout), (0, expected));
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let check = |line: &str, said: &str| {
        run(fence_cli().args(line.split_whitespace())).error(2, &[said]);
    };
    check("", "Usage: fence-cli <COMMAND>");
    check("plan", "Usage: fence-cli plan <COMMAND>");
    check("paln verify", "unrecognized subcommand 'paln'");
    check("plan verify --plan a --request b", "--fees <FILE>");
    check(
        "plan verify --plan a --plan b --request c --fees d",
        "cannot be used multiple times",
    );
    check(
        "plan verify --plan a --request b --fees c --force",
        "unexpected argument '--force'",
    );
    check(
        "plan verify --plan a --request b --fees c --now yesterday",
        "not a time of RFC 3339 like 2026-11-21T15:30:00Z",
    );
    for two in [
        "--plan - --request - --fees c",
        "--plan - --request b --fees -",
        "--plan a --request - --fees -",
    ] {
        check(
            &format!("plan verify {two}"),
            "only one of --plan, --request and --fees",
        );
    }
}
