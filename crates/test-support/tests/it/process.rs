//! Tests with programs that end by themselves, and programs that a test ends.

use std::process::Command;

use test_support::eventually;
use test_support::process::{Server, Signal, limited, program, run, run_on};

fn shell(script: &str) -> Command {
    let mut command = program("/bin/sh", &[("GIVEN", "yes")]);
    command.args(["-c", script]);
    command
}

#[test]
fn a_command_gives_its_code_and_its_outputs() {
    let ended = run_on(b"{}", &mut shell("cat; echo \"$GIVEN$HOME\" >&2"));
    assert_eq!(ended.ok().json().to_string(), "{}");
    assert_eq!(ended.stderr, "yes\n");
    run(&mut shell("echo wrong >&2; exit 3")).error(3, &["wrong"]);
    assert_eq!(run(&mut shell("kill -TERM $$")).code, 128 + 15);
}

#[test]
fn limits_hold_for_the_program() {
    let mut command = limited("/bin/sh", "ulimit -n 77");
    let ended = run(command.args(["-c", "ulimit -n"]));
    assert_eq!(ended.ok().stdout, "77\n");
}

const LISTENS: &str = "trap 'exit 0' TERM; echo ready; echo listening on http://127.0.0.1:1 >&2; \
                       while :; do read line || sleep 0.01; done";

#[tokio::test]
async fn a_server_listens_and_stops() {
    let server = Server::start(&mut shell(LISTENS)).await;
    assert_eq!(server.url("/x?y"), "http://127.0.0.1:1/x?y");
    let ready = |line: &str| (line == "ready").then_some(());
    assert_eq!(server.wait_for_line(ready).await, Some(()));
    assert_eq!(server.stop().await, "listening on http://127.0.0.1:1\n");
}

#[tokio::test]
async fn a_paused_server_continues() {
    let server = Server::start(&mut shell(LISTENS)).await;
    server.signal(Signal::STOP);
    server.terminate();
    server.signal(Signal::CONT);
    server.ended().await.ok();
}

#[tokio::test]
async fn a_killed_server_has_ended() {
    let server = Server::start(&mut shell(LISTENS)).await;
    server.killer().kill();
    assert_eq!(server.ended().await.code, 128 + 9);
}

#[tokio::test]
#[should_panic(expected = "did not start:\nno configuration")]
async fn a_server_that_does_not_start_shows_its_log() {
    Server::start(&mut shell("echo no configuration >&2; exit 2")).await;
}

/// A line is searched only when it is complete.
#[tokio::test]
async fn half_an_address_is_not_found() {
    let mut server = Server::spawn(&mut shell(
        "printf 'listening on http://127.0.0.1:8' >&2; read line; echo 402 >&2; read line",
    ));
    let stdin = server.stdin.take();
    let complete = async {
        let half = async || server.log().ends_with(":8").then_some(());
        eventually("half of the line", half).await;
        drop(stdin);
    };
    let (listens, ()) = tokio::join!(server.listens(), complete);
    assert!(listens);
    assert_eq!(server.address().port(), 8_402);
}
