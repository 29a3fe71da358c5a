//! The values that are read, and the refusals with their places.

use proptest::prelude::*;

use super::*;

fn read<T>(text: &str, read: impl Fn(Json<'_>) -> Read<T>) -> Option<T> {
    Json::document(text.as_bytes()).and_then(read).ok()
}

fn place<T: fmt::Debug>(result: Read<T>) -> String {
    match result.unwrap_err() {
        SourceErrorKind::Malformed { path, .. } => path,
        other => panic!("{other}"),
    }
}

#[test]
fn every_error_names_its_place() {
    let text = br#"{"a": [{"b": 1.5}, null], "none": null}"#;
    let root = Json::document(text).unwrap().object().unwrap();
    let list = root.member("a").unwrap().elements().unwrap();
    let b = list[0].object().unwrap().member("b").unwrap();
    assert_eq!(place(b.digits()), "$.a[0].b");
    assert_eq!(place(list[1].object().map(drop)), "$.a[1]");
    assert_eq!(place(root.member("none")), "$.none");
    assert_eq!(place(root.member("missing")), "$.missing");
    assert_eq!(
        place(root.member("a").unwrap().exactly::<1>("one").map(drop)),
        "$.a"
    );
    assert!(root.find("none").is_none());
    for broken in ["", "{", "[1,]", "nul", "{}{}", "\u{feff}{}", "{\"a\":1"] {
        assert_eq!(place(Json::document(broken.as_bytes())), "$", "{broken}");
    }
    assert_eq!(place(Json::nested("[", "$[0].ids")), "$[0].ids");
}

#[test]
fn a_member_twice_is_refused() {
    assert!(read(r#"{"a":1,"b":2}"#, |json| json.object().map(drop)).is_some());
    assert!(read(r#"{"a":1,"b":2,"a":1}"#, |json| json.object().map(drop)).is_none());
    assert!(read(r#"{"a":1,"\u0061":1}"#, |json| json.object().map(drop)).is_none());
}

#[test]
fn numbers_are_exact() {
    let wide = "123456789012345678.901234567890123456";
    for (text, exact) in [
        ("1.3", "1.3"),
        ("\"1.3\"", "1.3"),
        ("0", "0"),
        ("0.0100", "0.01"),
        ("10", "10"),
        (wide, wide),
        ("1e-7", "0.0000001"),
        ("1.25E-2", "0.0125"),
        ("1.5e1", "15"),
        ("1.25e+1", "12.5"),
        ("1e2", "100"),
    ] {
        assert_eq!(
            read(text, |json| json.decimal())
                .map(|d| d.to_string())
                .as_deref(),
            Some(exact),
            "{text}"
        );
    }
    for text in [
        "-1",
        "-0",
        "1e37",
        "1e-37",
        "1e999999999999",
        "\"1e-7\"",
        "\"-1\"",
        "\"\"",
        "null",
        "true",
        "[1]",
        "\"NaN\"",
    ] {
        assert_eq!(read(text, |json| json.decimal()), None, "{text}");
    }
    assert_eq!(read("8453", |json| json.integer()), Some(8453u64));
    for text in [
        "8453.0",
        "-1",
        "1e3",
        "\"8453\"",
        "99999999999999999999",
        "null",
    ] {
        assert_eq!(read(text, |json| json.integer::<u64>()), None, "{text}");
    }
}

#[test]
fn digits_quantities_and_bytes_are_strict() {
    assert_eq!(read("\"0010\"", |json| json.digits()), Some(U256::from(10)));
    for text in ["10", "\"\"", "\"+1\"", "\"0x1\"", "\"1.0\"", "\"1 \""] {
        assert_eq!(read(text, |json| json.digits()), None, "{text}");
    }
    let over = format!("\"{}0\"", U256::MAX);
    assert_eq!(read(&over, |json| json.digits()), None);
    for (text, value) in [
        ("\"0x0\"", 0),
        ("\"0\"", 0),
        ("\"0x00fF\"", 255),
        ("\"12\"", 12),
    ] {
        assert_eq!(
            read(text, |json| json.quantity()),
            Some(U256::from(value)),
            "{text}"
        );
    }
    let long = format!("\"0x{}\"", "0".repeat(65));
    for text in [
        "0",
        "\"0x\"",
        "\"0X1\"",
        "\"0xg\"",
        "\"\"",
        "\"0x-1\"",
        "\"0x+1\"",
        "\"0x1_0\"",
        &long,
    ] {
        assert_eq!(read(text, |json| json.quantity()), None, "{text}");
    }
    assert_eq!(read("\"0x\"", |json| json.bytes()), Some(Bytes::new()));
    for text in ["\"\"", "\"0x1\"", "\"0xzz\"", "\"12\"", "\"0x0x12\"", "12"] {
        assert_eq!(read(text, |json| json.bytes()), None, "{text}");
    }
    assert_eq!(read("\"0x11\"", |json| json.address()), None);
    assert_eq!(read("\"0x11\"", |json| json.word()), None);
}

#[test]
fn hidden_characters_never_make_texts_equal() {
    assert_eq!(
        read("\"svc\"", |json| json.exact(8)).as_deref(),
        Some("svc")
    );
    for text in [
        "\"svc\\u200b\"",
        "\" svc\"",
        "\"svc \"",
        "\"s\\u0000vc\"",
        "\"123456789\"",
    ] {
        assert_eq!(read(text, |json| json.exact(8)), None, "{text}");
    }
    assert_eq!(
        read("\"sushi\\u202eswap\"", |json| json.label(32)).as_deref(),
        Some("sushiswap")
    );
    assert_eq!(read("\"\\u200b\"", |json| json.label(32)), None);
}

#[test]
fn depth_does_not_matter() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(&deep, |json| json.elements().map(drop)).is_some());
}

proptest! {
    #[test]
    fn a_number_is_its_digits_shifted(mantissa in 0..10u128.pow(15), places in 0u32..15) {
        let shifted = Decimal::new(mantissa, u8::try_from(places).unwrap()).unwrap();
        prop_assert_eq!(number(&format!("{mantissa}e-{places}")), Some(shifted));
        let grown = Decimal::new(mantissa * 10u128.pow(places), 0).unwrap();
        prop_assert_eq!(number(&format!("{mantissa}E+{places}")), Some(grown));
    }

    #[test]
    fn no_bytes_panic(text in any::<String>()) {
        if let Ok(json) = Json::document(text.as_bytes()) {
            let _ = (json.object().is_ok(), json.elements().is_ok(), json.decimal().is_ok(), json.quantity().is_ok());
        }
    }
}
