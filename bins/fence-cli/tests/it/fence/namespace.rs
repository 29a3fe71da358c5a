//! Runs the offline commands in a namespace without a network.

use std::{fs, process::Command};

use test_support::process::{Ended, run};

use crate::fence::{
    desk::{ACCOUNT, DELEGATE, Desk, GRANT_ID, KEY, NOW, PROJECT, SALT, pinned_policy},
    orders::{NEW, SIGN, ordering},
};

/// Runs the tool in a namespace where even the loopback interface is down.
fn without_network(desk: &Desk, arguments: &str) -> Ended {
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--map-root-user", env!("CARGO_BIN_EXE_fence-cli")])
        .args(arguments.split_whitespace());
    desk.settle(&mut command);
    run(&mut command)
}

#[test]
fn offline_commands_need_no_network() {
    let possible = Command::new("unshare")
        .args(["--net", "--map-root-user", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !possible {
        let on_ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty() && ci != "false");
        assert!(
            !on_ci,
            "this machine gives no namespace without a network (unshare --net): nothing was shown"
        );
        eprintln!("skipped: this machine gives no namespace without a network (unshare --net)");
        return;
    }
    let desk = ordering();
    // Moves the grant of the plan's order away, because the test writes another one under its name.
    fs::rename(desk.path("grant.json"), desk.path("ordering.json")).unwrap();
    desk.put("swap.policy.json", &desk.text("policy.json"));
    desk.put("policy.json", &pinned_policy());
    desk.put("private-key", KEY);
    desk.put("log.json", &crate::fence::logs::log());
    // The test attaches each signature once more, as that of a wallet would be.
    for (command, input) in [
        (
            "grant",
            format!(
                "grant new --account {ACCOUNT} --delegate {DELEGATE} --project-id {PROJECT} --salt {SALT} --now {NOW}"
            ),
        ),
        (
            "revoke",
            format!(
                "revoke new --account {ACCOUNT} --grant-id {GRANT_ID} --project-id {PROJECT} --salt {SALT}"
            ),
        ),
        ("limit", "limit new --grant grant.json --cap 1".to_owned()),
        (
            "order",
            NEW.replace("grant.json", "ordering.json")
                .replace("policy.json", "swap.policy.json"),
        ),
    ] {
        let now = if command == "grant" {
            format!("--now {NOW}")
        } else {
            String::new()
        };
        without_network(&desk, &format!("{input} --out {command}.json")).ok();
        without_network(
            &desk,
            &format!("{command} sign --in {command}.json {SIGN} {now} --out {command}.signed.json"),
        )
        .ok();
        let signature = desk.json(&format!("{command}.signed.json"))["signature"].clone();
        let signature = signature.as_str().unwrap();
        without_network(
            &desk,
            &format!("{command} attach --in {command}.json --signature {signature}"),
        )
        .ok();
    }
    for arguments in [
        "policy show".to_owned(),
        "policy digest --policy-file policy.json".to_owned(),
        "policy lint".to_owned(),
        "key import --keystore new.key --private-key-file private-key --password-file password".to_owned(),
        "key address --keystore new.key".to_owned(),
        "key list --folder .".to_owned(),
        "key new --keystore fresh.key --password-file password".to_owned(),
        "grant inspect --in grant.signed.json".to_owned(),
        "onchain delegation --grant grant.signed.json --redeemer 0x90F79bf6EB2c4f870365E785982E1f101E93b906 --keystore owner.key \
         --password-file password --yes --out delegated.json"
            .to_owned(),
        "onchain disable --grant delegated.json".to_owned(),
        "onchain auth7702 --nonce 0 --keystore owner.key --password-file password --yes".to_owned(),
        format!("grant verify --in grant.signed.json --project-id {PROJECT} --salt {SALT} --now {NOW}"),
        "log verify --in log.json".to_owned(),
        "plan show --plan swap.plan.json".to_owned(),
        "plan verify --plan swap.plan.json --request swap.request.json --fees fees.toml --now 2026-09-21T14:13:30Z".to_owned(),
        "completions bash".to_owned(),
        "man".to_owned(),
    ] {
        without_network(&desk, &arguments).ok();
    }
    // This shows that the namespace works: a command that needs the network has none.
    without_network(&desk, "status --url http://127.0.0.1:9").error(4, &["http://127.0.0.1:9: "]);
}
