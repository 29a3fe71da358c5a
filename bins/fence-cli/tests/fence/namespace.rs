//! The offline commands in a namespace without a network.

use std::process::Command;

use crate::desk::{ACCOUNT, DELEGATE, Desk, GRANT_ID, KEY, NOW, PROJECT, SALT, ended, fixture};

/// Runs of the tool in which even the loopback interface is down.
fn without_network(desk: &Desk, arguments: &str) -> crate::desk::Ended {
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--map-root-user", env!("CARGO_BIN_EXE_fence-cli")])
        .args(arguments.split_whitespace());
    desk.settle(&mut command);
    ended(command.output().unwrap())
}

#[test]
fn offline_commands_need_no_network() {
    let possible = Command::new("unshare")
        .args(["--net", "--map-root-user", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !possible {
        eprintln!("skipped: this machine gives no namespace without a network (unshare --net)");
        return;
    }
    let desk = Desk::new();
    desk.put("private-key", KEY);
    desk.put("log.json", &crate::logs::log());
    for name in ["swap.plan.json", "swap.request.json", "fees.toml"] {
        desk.put(name, &fixture(&format!("vectors/plans/{name}")));
    }
    for arguments in [
        "policy show".to_owned(),
        "policy digest --policy-file policy.json".to_owned(),
        "policy lint".to_owned(),
        "key import --keystore new.key --private-key-file private-key --password-file password".to_owned(),
        "key address --keystore new.key".to_owned(),
        "key list --folder .".to_owned(),
        format!(
            "grant new --account {ACCOUNT} --delegate {DELEGATE} --project-id {PROJECT} --salt {SALT} --now {NOW} --out grant.json"
        ),
        format!("grant sign --in grant.json --keystore owner.key --password-file password --yes --now {NOW} --out signed.json"),
        "grant inspect --in signed.json".to_owned(),
        "onchain delegation --grant signed.json --redeemer 0x90F79bf6EB2c4f870365E785982E1f101E93b906 --keystore owner.key \
         --password-file password --yes --out delegated.json"
            .to_owned(),
        "onchain disable --grant delegated.json".to_owned(),
        "onchain auth7702 --nonce 0 --keystore owner.key --password-file password --yes".to_owned(),
        "limit new --grant signed.json --cap 1 --out limit.json".to_owned(),
        "limit sign --in limit.json --keystore owner.key --password-file password --yes".to_owned(),
        format!("grant verify --in signed.json --project-id {PROJECT} --salt {SALT} --now {NOW}"),
        format!(
            "revoke new --account {ACCOUNT} --grant-id {GRANT_ID} --project-id {PROJECT} --salt {SALT} --out revocation.json"
        ),
        "revoke sign --in revocation.json --keystore owner.key --password-file password --yes --out revoked.json".to_owned(),
        "log verify --in log.json".to_owned(),
        "plan show --plan swap.plan.json".to_owned(),
        "plan verify --plan swap.plan.json --request swap.request.json --fees fees.toml --now 2026-09-21T14:13:30Z".to_owned(),
        "completions bash".to_owned(),
        "man".to_owned(),
    ] {
        without_network(&desk, &arguments).ok();
    }
    // The namespace is one: what needs a network has none.
    without_network(&desk, "status --url http://127.0.0.1:9").error(4, &["http://127.0.0.1:9: "]);
}
