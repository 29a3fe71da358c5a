use super::*;

const KEY: &str = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
const PASSWORD: &[u8] = b"correct horse";
const CAST: &str = include_str!("../../../fixtures/keystores/cast.json");
const ETH_ACCOUNT: &str = include_str!("../../../fixtures/keystores/eth-account.json");
const PBKDF2: &str = include_str!("../../../fixtures/keystores/eth-account-pbkdf2.json");

fn known() -> Address {
    Key::from_text(KEY).unwrap().address()
}

#[test]
fn the_files_of_cast_and_eth_account_are_read() {
    assert_eq!(
        known().to_string(),
        "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
    );
    for text in [CAST, ETH_ACCOUNT, PBKDF2] {
        assert_eq!(decrypt(text, PASSWORD).unwrap().address(), known());
    }
    assert_eq!(address_beside(CAST), Ok(None));
    assert_eq!(address_beside(ETH_ACCOUNT), Ok(Some(known())));
}

#[test]
fn a_wrong_password_is_no_key() {
    for password in [&b""[..], b"correct horse\n", b"Correct horse"] {
        assert_eq!(decrypt(CAST, password).unwrap_err(), KeystoreError::Mac);
    }
}

#[test]
fn a_written_key_file_reads_back_and_has_the_numbers_of_geth() {
    let key = Key::generate().unwrap();
    let text = encrypt(&key, PASSWORD).unwrap();
    assert_eq!(decrypt(&text, PASSWORD).unwrap().address(), key.address());
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let params = &file["crypto"]["kdfparams"];
    assert_eq!(
        (&params["n"], &params["r"], &params["p"], &file["version"]),
        (&262_144.into(), &8.into(), &1.into(), &3.into())
    );
    let id = file["id"].as_str().unwrap();
    assert_eq!((id.len(), id.as_bytes()[14]), (36, b'4'));
    assert!(
        matches!(id.as_bytes()[19], b'8' | b'9' | b'a' | b'b'),
        "{id}"
    );
    assert!(
        !format!("{key:?}")
            .to_lowercase()
            .contains(&alloy_primitives::hex::encode(key.0.to_bytes()))
    );
}

#[test]
fn each_broken_file_has_a_message_of_its_own() {
    let check = |from: &str, to: &str, part: &str| {
        assert!(PBKDF2.contains(from), "{from}");
        let error = decrypt(&PBKDF2.replacen(from, to, 1), PASSWORD).unwrap_err();
        assert!(error.to_string().contains(part), "{from}: {error}");
    };
    check(
        "\"version\": 3",
        "\"version\": 1",
        "expected a key file of version 3, observed version 1",
    );
    check("\"version\": 3", "\"versions\": 3", "no member version");
    check("aes-128-ctr", "aes-128-cbc", "the cipher \"aes-128-cbc\"");
    check(
        "hmac-sha256",
        "hmac-sha512",
        "pbkdf2 with Some(\"hmac-sha512\")",
    );
    check("\"pbkdf2\"", "\"argon2\"", "the key derivation \"argon2\"");
    check("\"dklen\": 32", "\"dklen\": 64", "64 bytes");
    check("\"c\": 20000", "\"c\": 99999999", "too much work");
    check("\"c\": 20000", "\"c\": 0", "c = 0");
    check(
        "\"mac\"",
        "\"mack\"",
        "a missing or mistyped member at line 1",
    );
    check("475a", "475g", "ciphertext is not hex");
    check("475a", "", "mac mismatch");
    check("6513ec", "6513", "the length of mac");
    check("70997970", "80997970", "states the address 0x80997970");
    let error = decrypt("nonsense", PASSWORD).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a key file of Web3 Secret Storage: line 1 column 2"
    );
}

#[test]
fn a_file_that_asks_for_too_much_work_is_refused() {
    for (n, r, p, part) in [
        ("1073741824", "8", "1", "too much work"),
        ("262144", "8", "1000", "too much work"),
        ("18446744073709551615", "8", "1", "too much work"),
        ("1000", "8", "1", "n = 1000"),
        ("8192", "0", "1", "r = 0"),
    ] {
        let text = CAST
            .replace("\"n\":8192", &format!("\"n\":{n}"))
            .replace("\"r\":8", &format!("\"r\":{r}"))
            .replace("\"p\":1", &format!("\"p\":{p}"));
        let error = decrypt(&text, PASSWORD).unwrap_err();
        assert!(error.to_string().contains(part), "{n} {r} {p}: {error}");
    }
}

#[test]
fn texts_that_are_no_key_are_refused() {
    let zero = "00".repeat(32);
    let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    for text in [
        "",
        "0x",
        "59c6",
        &zero,
        order,
        &format!("{KEY}00"),
        &KEY.replace('5', "g"),
    ] {
        assert_eq!(Key::from_text(text).unwrap_err(), KeystoreError::NotAKey);
    }
    assert!(Key::from_text(&format!("0x{KEY}\n")).is_ok());
}

/// The third vector of RFC 7914, section 12, as far as 32 bytes.
#[test]
fn a_password_is_stretched_as_the_rfc_says() {
    let stretched = stretch(b"pleaseletmein", b"SodiumChloride", (16_384, 8, 1)).unwrap();
    assert_eq!(
        alloy_primitives::hex::encode(*stretched),
        "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
    );
    for (numbers, code) in [
        ((1 << 30, 8, 1), "keystore_too_much_work"),
        ((u64::MAX, 8, 1), "keystore_too_much_work"),
        ((1000, 8, 1), "keystore_malformed"),
        ((1024, 0, 1), "keystore_malformed"),
    ] {
        assert_eq!(stretch(b"", b"", numbers).unwrap_err().code(), code);
    }
}
