//! Tests of commands and their exit codes.

use serde_json::Value;

use crate::process::server::{run, text};

#[test]
fn the_tools_are_listed() {
    let output = run(&["tools"], &[]);
    assert_eq!(output.status.code(), Some(0));
    let table = text(&output.stdout);
    assert!(table.contains("svc_delegation_fence_status"), "{table}");

    let output = run(&["tools", "--json"], &[]);
    assert_eq!(output.status.code(), Some(0));
    let tools: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(tools.as_array().unwrap().len(), table.lines().count());
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["outputSchema"]["type"], "object");
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
    }
}

#[test]
fn help_tells_every_command() {
    let mut help = String::new();
    for command in ["", "serve", "stdio", "demo", "tools", "check-config"] {
        let arguments: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        let output = run(&arguments, &[]);
        assert_eq!(output.status.code(), Some(0));
        help += &format!(
            "$ mcp-server {}\n{}\n",
            arguments.join(" "),
            text(&output.stdout)
        );
    }
    insta::assert_snapshot!(help);
}

#[test]
fn a_command_line_that_is_not_understood_is_usage() {
    for arguments in [
        &["server"][..],
        &["serve"],
        &["stdio"],
        &["tools", "--yaml"],
        &["check-config"],
    ] {
        let output = run(arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("--help"), "{arguments:?}");
        assert_eq!(text(&output.stdout), "");
    }
}
