//! Tests of help, completions, the manual, failed writes and the time that a start takes.

use std::{fs::OpenOptions, process::Stdio, time::Instant};

use test_support::process::Ended;

use crate::fence::desk::Desk;

#[test]
fn completions_and_the_manual_name_every_command() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = desk.run(&format!("completions {shell}"));
        assert!(text.ok().stdout.contains("fence-cli"), "{shell}");
        assert!(text.stdout.contains("revoke"), "{shell}");
    }
    desk.run("completions cmd")
        .error(2, &["invalid value 'cmd'"]);
    let manual = desk.run("man");
    let text = manual.ok().stdout.replace("\\-", "-");
    for part in [
        ".TH fence-cli",
        "fence-cli-revoke-now",
        "fence-cli-plan-verify",
        "--password-file",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn data_that_cannot_be_written_is_no_success() {
    let desk = Desk::with_signed_grant();
    for arguments in [
        "policy digest",
        "--help",
        "man",
        "grant inspect --in signed.json",
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = desk.fence_cli();
        command
            .args(arguments.split_whitespace())
            .stdout(Stdio::from(full));
        let ended = Ended::from(command.output().unwrap());
        assert_eq!(ended.code, 3, "{arguments}: {ended:?}");
        assert!(ended.stderr.contains("No space left"), "{ended:?}");
    }
    // A refusal keeps its exit code.
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = desk.fence_cli();
    command
        .args(["grant", "inspect", "--in", "policy.json", "--json"])
        .stdout(Stdio::from(full));
    assert_eq!(Ended::from(command.output().unwrap()).code, 1);
}

#[test]
fn every_command_has_a_help_that_names_the_exit_codes_or_its_commands() {
    let desk = Desk::new();
    let mut pages = vec![String::new()];
    let mut seen = 0;
    while let Some(command) = pages.pop() {
        let help = desk.run(&format!("{command} --help"));
        let text = &help.ok().stdout;
        assert!(text.contains("Usage: fence-cli"), "{text}");
        seen += 1;
        let below = text.split_once("Commands:\n").map_or("", |(_, rest)| rest);
        let names = below
            .lines()
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
            .filter(|name| !name.is_empty() && *name != "help");
        pages.extend(names.map(|name| format!("{command} {name}")));
    }
    assert!(seen > 25, "{seen}");
}

/// The limit is far above the usual time, so that the test does not fail on a busy machine. `cargo
/// xtask bench` measures the time.
#[test]
fn the_tool_starts_at_once() {
    let desk = Desk::new();
    let begun = Instant::now();
    desk.run("--version").ok();
    assert!(begun.elapsed().as_secs() < 10);
}
