//! Tests of the commands that ask a server. A stand-in with the interface of `docs/FENCE.md` takes
//! the server's place.

use serde_json::{Value, json};
use test_support::process::Ended;

use crate::fence::{
    desk::{ACCOUNT, DELEGATE, Desk, GRANT_ID, NOW, PASSWORD, PROJECT, Refused as _, SALT},
    service::{Service, State, refusal},
    terminal::Terminal,
};

const OWNED: &str = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

/// Makes a desk with a signed grant of a sub-wallet.
fn of_sub_wallet() -> Desk {
    let desk = Desk::new();
    desk.run(&format!(
        "grant new --account {OWNED} --delegate {DELEGATE} --project-id {PROJECT} --salt {SALT} --now {NOW} \
         --grant-id {GRANT_ID} --kind sub_wallet --out grant.json"
    ))
    .ok();
    desk.sign_grant("").ok();
    desk
}

fn revoke_now(desk: &Desk, service: &Service, more: &str) -> Ended {
    desk.run(&format!(
        "revoke now --grant signed.json --url {} --keystore owner.key --password-file password --yes {} {more}",
        service.url,
        if more.contains("--timeout") {
            ""
        } else {
            "--timeout 3"
        }
    ))
}

#[test]
fn a_grant_goes_to_the_service_as_it_is_signed() {
    let desk = Desk::with_signed_grant();
    let service = Service::start(State::default());
    let said = desk.run(&format!(
        "grant submit --in signed.json --url {}/",
        service.url
    ));
    assert_eq!(
        said.ok().stdout,
        format!("the service has the grant {GRANT_ID}: active, until 2027-02-19T01:00:00Z\n")
    );
    let asked = service.requests();
    assert_eq!(
        (asked[0].0.as_str(), asked[0].1.as_str()),
        ("POST", "/delegation/grants")
    );
    let body: Value = serde_json::from_str(&asked[0].2).unwrap();
    assert_eq!(body, desk.json("signed.json"));
    desk.run(&format!(
        "grant submit --in grant.json --url {}",
        service.url
    ))
    .refused_by("not_signed");
}

#[test]
fn revoke_now_says_in_one_line_that_the_permission_is_gone() {
    let desk = of_sub_wallet();
    let service = Service::start(State {
        slow_reads: 2,
        ..State::default()
    });
    desk.run(&format!(
        "grant submit --in signed.json --url {}",
        service.url
    ))
    .ok();
    let said = revoke_now(&desk, &service, "--receipt receipt.json");
    assert_eq!(
        said.ok().stdout,
        "the permission is gone: the service reads it back as revoked\n"
    );
    let asked = service.requests();
    let posted: Value = serde_json::from_str(&asked[1].2).unwrap();
    let message = &posted["typed_data"]["message"];
    assert_eq!(message["account"], OWNED);
    assert_eq!(message["grantId"], GRANT_ID);
    assert_eq!(posted["typed_data"]["domain"]["salt"], SALT);
    let path = format!("/delegation/grants/{OWNED}/{GRANT_ID}");
    let reads = asked
        .iter()
        .filter(|(method, at, _)| method == "GET" && *at == path);
    assert_eq!(reads.count(), 3);
    assert_eq!(desk.json("receipt.json")["revocation"], posted);
    // The receipt exists already. The tool does not overwrite it, and sends nothing.
    let count = service.requests().len();
    revoke_now(&desk, &service, "--receipt receipt.json")
        .error(3, &["receipt.json: exists already"]);
    assert_eq!(service.requests().len(), count);
    let json = revoke_now(&desk, &service, "--json");
    assert_eq!(json.ok().json()["gone"], true);
}

/// Someone in a hurry has to type only the name of the grant.
#[test]
fn revoke_now_needs_only_the_grant_when_the_settings_have_the_rest() {
    if !Terminal::is_possible() {
        return;
    }
    let desk = of_sub_wallet();
    let service = Service::start(State::default());
    desk.run(&format!(
        "grant submit --in signed.json --url {}",
        service.url
    ))
    .ok();
    std::fs::create_dir_all(desk.path(".config/svc-fence")).unwrap();
    desk.put(
        ".config/svc-fence/config.toml",
        &format!("url = \"{}\"\nkeystore = \"owner.key\"\n", service.url),
    );
    let said = Terminal::run(
        &desk,
        "revoke now --grant signed.json",
        &[
            ("Type yes: ", "yes"),
            ("Password of the key file: ", PASSWORD),
        ],
    );
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.shown
            .ends_with("the permission is gone: the service reads it back as revoked\r\n"),
        "{said:?}"
    );
}

/// The tool says whether the permission has ended, whatever happens to the receipt.
#[test]
fn a_receipt_that_cannot_be_kept_hides_nothing() {
    let desk = of_sub_wallet();
    let service = Service::start(State::default());
    desk.run(&format!(
        "grant submit --in signed.json --url {}",
        service.url
    ))
    .ok();
    let said = revoke_now(&desk, &service, "--receipt no/receipt.json");
    assert_eq!(said.code, 3, "{said:?}");
    assert_eq!(
        said.stdout,
        "the permission is gone: the service reads it back as revoked\n"
    );
    for part in [
        "the receipt was not kept: no/receipt.json: cannot be written",
        "with another --receipt gets it again",
    ] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    // A permission that is still active decides the exit code, not the missing receipt.
    service.state.lock().unwrap().slow_reads = 1_000;
    let said = revoke_now(&desk, &service, "--timeout 0 --receipt no/receipt.json");
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.stdout.contains("NOT gone"), "{said:?}");
    desk.run(&format!(
        "revoke new --account {OWNED} --grant-id {GRANT_ID} --project-id {PROJECT} --salt {SALT} --out revocation.json"
    ))
    .ok();
    desk.run("revoke sign --in revocation.json --keystore owner.key --password-file password --yes --out revoked.json")
        .ok();
    let said = desk.run(&format!(
        "revoke submit --in revoked.json --url {} --receipt no/receipt.json",
        service.url
    ));
    assert_eq!(said.code, 3, "{said:?}");
    assert!(
        said.stdout.starts_with("the service says revoked"),
        "{said:?}"
    );
}

#[test]
fn a_grant_counts_as_revoked_only_when_the_service_reads_it_back_as_revoked() {
    let desk = of_sub_wallet();
    let service = Service::start(State {
        slow_reads: 1_000,
        ..State::default()
    });
    desk.run(&format!(
        "grant submit --in signed.json --url {}",
        service.url
    ))
    .ok();
    let said = revoke_now(&desk, &service, "");
    assert_eq!(said.code, 5, "{said:?}");
    assert_eq!(
        said.stdout,
        "the permission is NOT gone: the service reads it back as active\n"
    );
    let confirm = |more: &str| {
        desk.run(&format!(
            "revoke confirm --grant signed.json --url {} --timeout 0 {more}",
            service.url
        ))
    };
    assert_eq!(confirm("").code, 5);
    assert_eq!(confirm("--json").json()["read_back"]["state"], "active");
    service.state.lock().unwrap().slow_reads = 0;
    assert_eq!(
        confirm("").ok().stdout,
        "the permission is gone: the service reads it back as revoked\n"
    );
    service.state.lock().unwrap().grant = None;
    let said = confirm("");
    assert_eq!(said.code, 5);
    assert!(
        said.stdout.contains("has never seen this grant"),
        "{said:?}"
    );
}

#[test]
fn a_read_back_that_fails_confirms_nothing() {
    let desk = of_sub_wallet();
    let answers = [
        (503, refusal("fence_unreadable", "later").to_string()),
        (200, "{}".to_owned()),
        (200, "<html>".to_owned()),
        (404, refusal("not_found", "no such route").to_string()),
    ];
    for read in answers {
        let is_refusal = read.0 == 404;
        let service = Service::start(State {
            read: Some(read),
            ..State::default()
        });
        desk.run(&format!(
            "grant submit --in signed.json --url {}",
            service.url
        ))
        .ok();
        let said = desk.run(&format!(
            "revoke now --grant signed.json --url {} --keystore owner.key --password-file password --yes --timeout 0",
            service.url
        ));
        if is_refusal {
            said.refused_by("not_found");
        } else {
            said.error(5, &["accepted, but NOT confirmed"]);
        }
    }
}

#[test]
fn a_permission_of_an_account_with_code_is_gone_only_when_the_chain_says_so_too() {
    let desk = Desk::with_signed_grant();
    let service = Service::start(State::default());
    desk.run(&format!(
        "grant submit --in signed.json --url {}",
        service.url
    ))
    .ok();
    let said = revoke_now(&desk, &service, "");
    assert_eq!(said.code, 5, "{said:?}");
    for part in [
        "its delegations are not disabled on the chain",
        &format!("send this from {ACCOUNT}"),
        "\"data\":\"0x49934047\"",
    ] {
        assert!(said.stdout.contains(part), "{said:?}");
    }
    assert_eq!(said.stdout.lines().count(), 1);
    service.state.lock().unwrap().disabled = true;
    let said = revoke_now(&desk, &service, "");
    assert!(
        said.ok().stdout.contains("disabled in a sealed block"),
        "{said:?}"
    );
}

#[test]
fn a_revocation_of_another_key_is_not_sent() {
    let desk = Desk::with_signed_grant();
    let service = Service::start(State::default());
    desk.run("key new --keystore owner2.key --password-file password")
        .ok();
    desk.run(&format!(
        "revoke now --grant signed.json --url {} --keystore owner2.key --password-file password --yes",
        service.url
    ))
    .refused_by("wrong_signer");
    assert_eq!(service.requests().len(), 0);
}

#[test]
fn submitting_by_hand_does_the_same_in_steps() {
    let desk = of_sub_wallet();
    let service = Service::start(State::default());
    let url = &service.url;
    desk.run(&format!("grant submit --in signed.json --url {url} --json"))
        .ok();
    desk.run(&format!(
        "revoke new --account {OWNED} --grant-id {GRANT_ID} --project-id {PROJECT} --salt {SALT} --out revocation.json"
    ))
    .ok();
    desk.run("revoke sign --in revocation.json --keystore owner.key --password-file password --yes --out revoked.json").ok();
    let said = desk.run(&format!(
        "revoke submit --in revoked.json --url {url} --receipt receipt.json"
    ));
    assert!(
        said.ok()
            .stdout
            .starts_with("the service says revoked since 2026-11-22T01:00:00Z"),
        "{said:?}"
    );
    assert_eq!(desk.json("receipt.json")["read_back"], true);
    desk.run(&format!("revoke confirm --grant signed.json --url {url}"))
        .ok();
}

#[test]
fn the_status_is_compared_with_the_pinned_policy() {
    let desk = Desk::with_signed_grant();
    let digest = desk.run("policy digest").stdout.trim().to_owned();
    let good = json!({"present": true, "policy_name": "svc-base-swap-fence.v2", "per_swap_cap_usd": 5000,
        "project_id": PROJECT, "rules_digest": digest});
    let ask = |change: &dyn Fn(&mut Value), more: &str| {
        let mut status = good.clone();
        change(&mut status);
        let service = Service::start(State {
            status: Some(status),
            ..State::default()
        });
        desk.run(&format!("status --url {} {more}", service.url))
    };
    let said = ask(&|_| {}, "");
    assert!(
        said.ok()
            .stdout
            .contains("at most 5000 US dollars in one swap"),
        "{said:?}"
    );
    assert_eq!(ask(&|_| {}, "--json").json()["fence"], good);
    ask(&|status| status["present"] = json!(false), "").refused_by("fence_unreadable");
    ask(
        &|status| status["policy_name"] = json!("svc-base-swap-fence.v5"),
        "",
    )
    .refused_by("fence_name_mismatch");
    ask(&|status| status["rules_digest"] = json!(GRANT_ID), "").refused_by("fence_digest_mismatch");
    ask(&|status| status["user"] = json!(ACCOUNT), "").error(4, &["not a fence status record"]);
    ask(&|_| {}, "--grant signed.json").refused_by("grant_not_found");
}

#[test]
fn a_server_that_cannot_be_used_is_exit_code_4() {
    let desk = Desk::with_signed_grant();
    let submit = |fixed: (u16, &str)| {
        let fixed = Some((fixed.0, fixed.1.to_owned()));
        let service = Service::start(State {
            fixed,
            ..State::default()
        });
        desk.run(&format!(
            "grant submit --in signed.json --url {}",
            service.url
        ))
    };
    let refused = refusal("grant_revoked", "revoked for ever\u{1b}[2K").to_string();
    let said = submit((403, &refused));
    assert!(
        said.refused_by("grant_revoked")
            .contains("the service refuses: revoked for ever\\u{1b}[2K")
    );
    let busy = refusal("rate_limited", "wait").to_string();
    submit((429, &busy)).error(4, &["answered 429: rate_limited: wait"]);
    submit((503, &refusal("fence_unreadable", "later").to_string()))
        .error(4, &["fence_unreadable"]);
    submit((200, "<html>")).error(4, &["not JSON"]);
    submit((404, "{}")).error(4, &["without an error of its form"]);
    submit((302, "{}")).error(4, &["answered 302"]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = free.local_addr().unwrap();
    drop(free);
    desk.run(&format!(
        "grant submit --in signed.json --url http://{closed}"
    ))
    .error(4, &[&closed.to_string()]);
    desk.run("grant submit --in signed.json --url http://api.example")
        .error(2, &["plain http is taken for this machine only"]);
    desk.run("grant submit --in signed.json")
        .error(2, &["--url is missing"]);
}
