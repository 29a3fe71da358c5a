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
        assert_eq!(said.code, 5, "{said:?}");
        let first = "the revocation was accepted, but NOT confirmed by reading back: ";
        assert!(said.stdout.starts_with(first), "{said:?}");
        let next = "fence-cli revoke confirm --grant signed.json --url http://127.0.0.1:";
        assert!(said.stdout.contains(next), "{said:?}");
    }
}

/// The files that `revoke now` has kept.
fn kept(desk: &Desk) -> Vec<String> {
    let names = std::fs::read_dir(desk.path("")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains("revocation-")).collect();
    names.sort();
    names
}

/// An address at which nothing listens.
fn nowhere() -> String {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", free.local_addr().unwrap())
}

fn revoke_at(desk: &Desk, url: &str, more: &str) -> Ended {
    desk.run(&format!(
        "revoke now --grant signed.json --url {url} --keystore owner.key --password-file password --yes --timeout 0 {more}"
    ))
}

/// The service is down. The first line says that nothing is revoked, and the next ones what to run:
/// the kept file counts as soon as the service is back.
#[test]
fn a_service_that_is_down_has_revoked_nothing_and_the_signed_file_is_kept() {
    let desk = of_sub_wallet();
    let url = nowhere();
    let said = revoke_at(&desk, &url, "");
    assert_eq!(said.code, 4, "{said:?}");
    let lines: Vec<&str> = said.stdout.lines().collect();
    let first = format!("nothing is revoked: {url}: ");
    assert!(lines[0].starts_with(&first), "{said:?}");
    let [file] = &kept(&desk)[..] else {
        panic!("one kept file: {said:?}")
    };
    let signed = desk.json(file);
    let message = &signed["typed_data"]["message"];
    assert_eq!(
        (&message["account"], &message["grantId"]),
        (&json!(OWNED), &json!(GRANT_ID))
    );
    use std::os::unix::fs::PermissionsExt as _;
    let mode = desk.path(file).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let signed_at: u64 = message["revokedAt"].as_str().unwrap().parse().unwrap();
    let until = calldata_checks::UtcSeconds::from_unix(signed_at + 300);
    let shown = format!(
        "the signed revocation is kept in {file}; the service takes it until {until}, 300 seconds after it was signed"
    );
    assert_eq!(lines[1], shown);
    let next = format!("until then:    fence-cli revoke submit --in {file} --url {url}");
    assert_eq!(lines[2], next);
    assert_eq!(
        lines[3],
        "after that:    the same command again, which signs anew"
    );
    assert!(
        lines[4].starts_with("only the service can end this grant"),
        "{said:?}"
    );

    let service = Service::start(State::default());
    desk.run(&format!("revoke submit --in {file} --url {}", service.url))
        .ok();
    let posted: Value = serde_json::from_str(&service.requests()[0].2).unwrap();
    assert_eq!(posted, signed);

    let told = revoke_at(&desk, &url, "--json");
    assert_eq!(told.code, 4, "{told:?}");
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (&told["gone"], &told["revoked"]),
        (&json!(false), &json!(false))
    );
    assert!(
        kept(&desk).contains(&told["signed"].as_str().unwrap().to_owned()),
        "{told}"
    );
    assert!(told["counts_until"].is_string() && told["error"].is_string());
}

/// Nothing is sent before a connection with its handshake has come about.
#[test]
fn a_name_or_a_handshake_that_fails_has_revoked_nothing() {
    let desk = of_sub_wallet();
    let service = Service::start(State::default());
    let plain = service.url.replace("http://", "https://");
    for url in ["https://nowhere.invalid", &plain] {
        let said = revoke_at(&desk, url, "");
        assert_eq!(said.code, 4, "{said:?}");
        let first = format!("nothing is revoked: {url}: ");
        assert!(said.stdout.starts_with(&first), "{said:?}");
    }
}

#[test]
fn a_refusal_of_the_service_has_revoked_nothing() {
    let desk = of_sub_wallet();
    let ask = |status: u16, code: &str, more: &str| {
        let service = Service::start(State {
            acknowledgement: Some((status, refusal(code, "no").to_string(), false)),
            ..State::default()
        });
        let said = revoke_at(&desk, &service.url, more);
        assert_eq!(service.requests().len(), 1, "{said:?}");
        said
    };
    let said = ask(403, "revocation_project_mismatch", "");
    assert_eq!(said.code, 1, "{said:?}");
    let first =
        "nothing is revoked: refused: revocation_project_mismatch: the service refuses: no\n";
    assert!(said.stdout.starts_with(first), "{said:?}");
    // The service would refuse this file again.
    assert_eq!(kept(&desk), [""; 0]);
    let told = ask(403, "revocation_project_mismatch", "--json");
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told["refused"]["check"], "revocation_project_mismatch");
    assert_eq!(told["revoked"], false);

    for (status, code) in [(503, "revocations_full"), (429, "rate_limited")] {
        let said = ask(status, code, "");
        assert_eq!(said.code, 4, "{said:?}");
        let first = format!("nothing is revoked: the server answered {status}: {code}: no\n");
        assert!(said.stdout.starts_with(&first), "{said:?}");
        assert!(
            said.stdout
                .contains("fence-cli revoke submit --in signed.revocation-"),
            "{said:?}"
        );
        // Two runs within one second sign the same, and keep it once.
        assert!(!kept(&desk).is_empty(), "{said:?}");
    }
}

/// The service has done it, but its answer is lost: the read-back says so.
#[test]
fn a_lost_answer_is_read_back() {
    let desk = of_sub_wallet();
    let granted = |acknowledgement| {
        let service = Service::start(State {
            acknowledgement: Some(acknowledgement),
            ..State::default()
        });
        desk.run(&format!(
            "grant submit --in signed.json --url {}",
            service.url
        ))
        .ok();
        service
    };
    let service = granted((502, "<html>".to_owned(), true));
    let said = revoke_at(&desk, &service.url, "--receipt receipt.json");
    let gone = "the permission is gone: the service reads it back as revoked\n";
    assert_eq!((said.code, said.stdout.as_str()), (3, gone), "{said:?}");
    assert!(
        said.stderr.contains("the receipt was not kept: "),
        "{said:?}"
    );
    assert_eq!(
        revoke_at(&desk, &service.url, "").ok().stdout,
        "the permission is gone: the service reads it back as revoked\n"
    );
    assert_eq!(kept(&desk), [""; 0]);

    // The service has not done it, or not yet.
    let failed = refusal("fence_store_unavailable", "later").to_string();
    let service = granted((503, failed, false));
    let said = revoke_at(&desk, &service.url, "");
    assert_eq!(said.code, 5, "{said:?}");
    let first = "the permission is NOT gone: the service reads it back as active\n\
                 the service has not acknowledged the revocation: the server answered 503: fence_store_unavailable: later\n";
    assert!(said.stdout.starts_with(first), "{said:?}");
    assert_eq!(kept(&desk).len(), 1);
}

/// The connection ends in the middle, and nothing can be read back. The tool claims neither.
#[test]
fn what_cannot_be_known_is_said_to_be_unknown() {
    let desk = of_sub_wallet();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let said = revoke_at(&desk, &url, "");
    assert_eq!(said.code, 5, "{said:?}");
    let first = format!(
        "it is UNKNOWN whether anything is revoked: the service has not acknowledged it: {url}: "
    );
    assert!(said.stdout.starts_with(&first), "{said:?}");
    for part in [
        "the grant cannot be read back: ",
        "the signed revocation is kept in signed.revocation-",
        "to ask again:  fence-cli revoke confirm --grant signed.json --url http://127.0.0.1:",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    let [file] = &kept(&desk)[..] else {
        panic!("one kept file: {said:?}")
    };
    let told = desk.run(&format!("revoke submit --in {file} --url {url}"));
    assert_eq!(told.code, 4, "{told:?}");
    let first = "it is UNKNOWN whether anything is revoked: ";
    assert!(told.stdout.starts_with(first), "{told:?}");
    let told = desk.run(&format!("revoke submit --in {file} --url {}", nowhere()));
    assert_eq!(told.code, 4, "{told:?}");
    assert!(told.stdout.starts_with("nothing is revoked: "), "{told:?}");
    let told = revoke_at(&desk, &url, "--json");
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (&told["gone"], &told["revoked"]),
        (&json!(false), &Value::Null)
    );
}

/// An account with delegation code needs no service: the transaction is on the screen.
#[test]
fn a_service_that_is_down_leaves_the_end_on_the_chain() {
    let desk = Desk::new();
    desk.new_grant("").ok();
    desk.sign_grant("--redeemer 0x90F79bf6EB2c4f870365E785982E1f101E93b906")
        .ok();
    let said = revoke_at(&desk, &nowhere(), "");
    assert!(said.stdout.starts_with("nothing is revoked: "), "{said:?}");
    let transaction = desk.run("onchain disable --grant signed.json").ok().json();
    let last = said.stdout.lines().last().unwrap();
    let (words, shown) = last.split_once(": send this from ").unwrap();
    assert_eq!(words, "without the service, on the chain");
    let (account, shown) = shown.split_once(": ").unwrap();
    assert_eq!(account, ACCOUNT);
    assert_eq!(serde_json::from_str::<Value>(shown).unwrap(), transaction);
    // A grant without its delegations.
    let desk = Desk::with_signed_grant();
    let said = revoke_at(&desk, &nowhere(), "");
    let last = said.stdout.lines().last().unwrap();
    assert!(
        last.contains("fence-cli onchain disable --grant FILE"),
        "{said:?}"
    );
}

/// The name of the file would be too long here, so it cannot be kept: it is shown.
#[test]
fn a_signed_revocation_that_cannot_be_kept_is_shown() {
    let desk = of_sub_wallet();
    let grant = format!("{}.json", "g".repeat(240));
    desk.put(&grant, &desk.text("signed.json"));
    let said = desk.run(&format!(
        "revoke now --grant {grant} --url {} --keystore owner.key --password-file password --yes",
        nowhere()
    ));
    assert!(said.stdout.starts_with("nothing is revoked: "), "{said:?}");
    let line = said.stdout.lines().nth(1).unwrap();
    assert!(
        line.starts_with("the signed revocation is not kept: "),
        "{said:?}"
    );
    let signed = &line[line.find('{').unwrap()..];
    desk.put("kept.json", signed);
    let service = Service::start(State::default());
    desk.run(&format!(
        "revoke submit --in kept.json --url {}",
        service.url
    ))
    .ok();
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
