//! Tests of key files: the tool writes and reads them, and shows no secret.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::fence::desk::{ACCOUNT, Desk, KEY, PASSWORD, fixture};

#[test]
fn an_imported_key_is_encrypted_for_its_owner_alone_and_read_again() {
    let desk = Desk::new();
    desk.put("private-key", &format!("0x{KEY}\n"));
    let ended = desk.run(
        "key import --keystore new.key --private-key-file private-key --password-file password",
    );
    assert_eq!(ended.ok().stdout, format!("{ACCOUNT}\n"));
    let mode = desk
        .path("new.key")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let file = desk.json("new.key");
    assert_eq!(file["crypto"]["kdfparams"]["n"], 262_144);
    assert_eq!(file["crypto"]["kdf"], "scrypt");
    let ended = desk.run("key address --keystore new.key --check --password-file password");
    assert_eq!(ended.ok().stdout, format!("{ACCOUNT}\n"));
    for text in [&desk.text("new.key"), &ended.stdout, &ended.stderr] {
        assert!(!text.contains(KEY) && !text.contains(PASSWORD));
    }
}

#[test]
fn the_key_files_of_cast_and_eth_account_open() {
    let desk = Desk::new();
    for name in ["cast", "eth-account", "eth-account-pbkdf2"] {
        desk.put("foreign.key", &fixture(&format!("keystores/{name}.json")));
        let ended =
            desk.run("key address --keystore foreign.key --check --password-file password --json");
        assert_eq!(ended.ok().json()["address"], ACCOUNT, "{name}");
    }
}

#[test]
fn a_new_key_is_never_the_same_and_never_replaces_one() {
    let desk = Desk::new();
    let first = desk.run("key new --keystore one.key --password-file password");
    let second = desk.run("key new --keystore two.key --password-file password");
    assert_ne!(first.ok().stdout, second.ok().stdout);
    let before = desk.text("one.key");
    desk.run("key new --keystore one.key --password-file password")
        .error(
            3,
            &["one.key: exists already; a key file is never replaced"],
        );
    assert_eq!(desk.text("one.key"), before);
    symlink(desk.path("elsewhere"), desk.path("link.key")).unwrap();
    desk.run("key new --keystore link.key --password-file password")
        .error(3, &["link.key: exists already"]);
    assert!(!desk.path("elsewhere").exists());
}

#[test]
fn an_unusable_key_file_is_refused_with_its_reason() {
    let desk = Desk::new();
    desk.put("wrong", "correct horse battery");
    desk.put("empty", "\n");
    let open = "key address --keystore owner.key --password-file";
    desk.run(&format!("{open} wrong"))
        .error(3, &["owner.key: wrong password, or a damaged key file"]);
    desk.run(&format!("{open} absent"))
        .error(3, &["absent: No such file"]);
    desk.run("key address --keystore absent.key")
        .error(3, &["absent.key: No such file"]);
    desk.run("key address --keystore owner.key").error(
        3,
        &["no terminal to ask for the password", "--password-file"],
    );
    desk.run("key new --keystore a.key --password-file empty")
        .error(3, &["an empty password protects nothing"]);
    desk.put("nonsense", "not a key");
    desk.run("key import --keystore a.key --private-key-file nonsense --password-file password")
        .error(3, &["expected a secp256k1 private key"]);
    desk.run("key new --keystore no/a.key --password-file password")
        .error(3, &["no/a.key: cannot be written"]);
    desk.run("key import --keystore a.key --private-key-file - --password-file -")
        .error(2, &["only one of"]);
    desk.put("broken.key", "{\"version\":3}");
    desk.run("key address --keystore broken.key --password-file password")
        .error(3, &["broken.key: not a key file of Web3 Secret Storage"]);
    assert!(!desk.path("a.key").exists());
}

#[test]
fn a_password_on_the_command_line_is_refused_and_not_repeated() {
    let desk = Desk::new();
    for arguments in [
        "key address --keystore owner.key --password hunter2",
        "grant sign --in grant.json --keystore owner.key --password hunter2",
        "key import --keystore a.key --private-key hunter2",
    ] {
        let ended = desk.run(arguments);
        ended.error(2, &["unexpected argument '--p"]);
        assert!(!ended.stderr.contains("hunter2"), "{ended:?}");
    }
}

#[test]
fn key_files_are_listed_and_found_by_name_where_cast_keeps_them() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path(".foundry/keystores")).unwrap();
    desk.put(
        ".foundry/keystores/alice",
        &fixture("keystores/eth-account.json"),
    );
    desk.put(".foundry/keystores/bob", &fixture("keystores/cast.json"));
    desk.put(".foundry/keystores/notes.txt", "not a key");
    let ended = desk.run("key list");
    let lines: Vec<_> = ended.ok().stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{ended:?}");
    assert!(lines[0].starts_with(ACCOUNT) && lines[0].ends_with("/alice"));
    assert!(lines[1].starts_with("not said in the file"));
    let ended = desk.run("key address --keystore alice");
    assert_eq!(ended.ok().stdout, format!("{ACCOUNT}\n"));
    desk.run("key list --folder absent")
        .error(3, &["absent: No such file"]);
    let json = desk.run("key list --json").json();
    assert_eq!(json["keys"][0]["address"], ACCOUNT);
}

#[test]
fn a_password_from_standard_input_or_a_descriptor_opens_it_too() {
    let desk = Desk::new();
    let ended = desk.run_piping(
        "key address --keystore owner.key --password-file -",
        PASSWORD,
    );
    assert_eq!(ended.ok().stdout, format!("{ACCOUNT}\n"));
    let ended = desk.run_piping(
        "key address --keystore owner.key --password-file /dev/fd/0",
        "correct horse\r\n",
    );
    ended.ok();
}

/// cast writes key files that others may read. The tool opens them and warns.
#[test]
fn a_key_file_that_others_may_read_causes_a_warning() {
    let desk = Desk::new();
    desk.new_grant("").ok();
    for (mode, warned) in [(0o600, false), (0o400, false), (0o644, true), (0o620, true)] {
        desk.set_mode("owner.key", mode);
        let said = desk.sign_grant("");
        let warning = format!("warning: owner.key has the mode {mode:04o}");
        assert_eq!(said.ok().stderr.contains(&warning), warned, "{said:?}");
    }
}
