//! Tests of commands and their exit codes.

use crate::process::server::run;

#[test]
fn the_tools_are_listed() {
    let output = run(&["tools"], &[]);
    let table = &output.ok().stdout;
    assert!(table.contains("svc_delegation_fence_status"), "{table}");

    let tools = run(&["tools", "--json"], &[]).ok().json();
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
        let line = arguments.join(" ");
        help += &format!("$ mcp-server {line}\n{}\n", output.ok().stdout);
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
        run(arguments, &[]).error(2, &["--help"]);
    }
}
