//! Attacks 40 and 41: files that two readers take for different messages.

use delegation_fence::{Grant, Rule, Signed};
use serde_json::{Value, json};

use crate::attacks::{
    sample::ACCOUNT,
    stage::{DELEGATE, grant, owner, sign},
};

fn parse_edited(edit: impl FnOnce(&mut Value)) -> Option<Rule> {
    let mut file: Value = serde_json::from_str(&sign(grant(), &owner()).to_json()).unwrap();
    edit(&mut file["typed_data"]);
    Signed::<Grant>::parse(&file.to_string())
        .err()
        .map(|refusal| refusal.rule)
}

/// Attack 40: typed data whose types are not those of the message.
#[test]
fn typed_data_with_other_types_is_refused() {
    assert_eq!(parse_edited(|_| {}), None);
    let types = Some(Rule::TypedDataTypes);
    let edits: [fn(&mut Value); 6] = [
        |data| {
            drop(
                data["types"]["EIP712Domain"]
                    .as_array_mut()
                    .unwrap()
                    .remove(2),
            )
        },
        |data| data["types"]["Extra"] = json!([]),
        |data| {
            data["types"]["FenceGrant"]
                .as_array_mut()
                .unwrap()
                .swap(0, 7)
        },
        |data| data["types"]["FenceGrant"][8]["type"] = "uint128".into(),
        |data| data["types"]["FenceGrant"][0]["extra"] = 1.into(),
        |data| data["primaryType"] = "FenceRevocation".into(),
    ];
    for edit in edits {
        assert_eq!(parse_edited(edit), types);
    }
}

#[test]
fn typed_data_of_another_form_is_refused() {
    let edits: [fn(&mut Value); 12] = [
        |data| data["extra"] = 1.into(),
        |data| data["message"]["extra"] = 1.into(),
        |data| data["domain"]["verifyingContract"] = json!(ACCOUNT),
        |data| data["domain"]["version"] = "2".into(),
        |data| data["message"]["projectId"] = "shop\u{1b}[2J".into(),
        |data| data["message"]["policyName"] = "svc-b\u{430}se".into(),
        |data| data["message"]["accountKind"] = "wallet".into(),
        |data| data["message"]["perSwapCap"] = "0x12".into(),
        |data| data["message"]["perSwapCap"] = "05".into(),
        |data| data["message"]["perSwapCap"] = "-5".into(),
        |data| data["message"]["expiresAt"] = "18446744073709551616".into(),
        |data| drop(data["message"].as_object_mut().unwrap().remove("delegate")),
    ];
    for edit in edits {
        assert_eq!(parse_edited(edit), Some(Rule::TypedDataMalformed));
    }
    let checksum = |data: &mut Value| {
        data["message"]["delegate"] = "0x3c44CdDdB6a900fa2b585dd299e03d12FA4293BC".into()
    };
    assert_eq!(parse_edited(checksum), Some(Rule::TypedDataMalformed));
    let duplicate = sign(grant(), &owner()).to_json().replacen(
        "\"accountKind\"",
        "\"account\":\"0x00000000000000000000000000000000000acc01\",\"accountKind\"",
        1,
    );
    let refusal = Signed::<Grant>::parse(&duplicate).unwrap_err();
    assert_eq!(refusal.rule, Rule::TypedDataMalformed);
    assert!(refusal.message.contains("message.account"), "{refusal}");
}

/// A list in place of an object names no members: another reader would refuse it, or read them in
/// another order.
#[test]
fn a_list_is_no_object() {
    let list = |value: &mut Value| {
        let members: Vec<_> = value.as_object().unwrap().values().cloned().collect();
        *value = Value::from(members);
    };
    assert_eq!(
        parse_edited(|data| list(&mut data["domain"])),
        Some(Rule::TypedDataMalformed)
    );
    assert_eq!(parse_edited(list), Some(Rule::TypedDataMalformed));
    let in_order = |data: &mut Value| {
        let message = &data["message"];
        let types = data["types"]["FenceGrant"].as_array().unwrap();
        let members: Vec<_> = types
            .iter()
            .map(|member| message[member["name"].as_str().unwrap()].clone())
            .collect();
        data["message"] = Value::from(members);
    };
    assert_eq!(parse_edited(in_order), Some(Rule::TypedDataMalformed));
    let file: Value = serde_json::from_str(&sign(grant(), &owner()).to_json()).unwrap();
    let whole = json!([file["typed_data"], file["signature"]]).to_string();
    assert_eq!(
        Signed::<Grant>::parse(&whole).unwrap_err().rule,
        Rule::TypedDataMalformed
    );
}

/// Attack 41: a number that JavaScript rounds to another one.
#[test]
fn a_number_that_is_not_read_alike_everywhere_is_refused() {
    let unsafe_number = Some(Rule::TypedDataNumberUnsafe);
    assert_eq!(
        parse_edited(|data| data["message"]["perSwapCap"] = 9_007_199_254_740_991_u64.into()),
        None
    );
    assert_eq!(
        parse_edited(|data| data["message"]["perSwapCap"] = 9_007_199_254_740_992_u64.into()),
        unsafe_number
    );
    assert_eq!(
        parse_edited(|data| data["message"]["issuedAt"] = json!(1.5)),
        unsafe_number
    );
    assert_eq!(
        parse_edited(|data| data["message"]["issuedAt"] = json!(-1)),
        unsafe_number
    );
    let large: Value = serde_json::from_str("1795222800000000000000").unwrap();
    assert_eq!(
        parse_edited(|data| data["message"]["perSwapCap"] = large),
        unsafe_number
    );
}

/// Addresses in one case carry no checksum, and have the same hash.
#[test]
fn an_address_in_one_case_is_the_same_address() {
    let signed = sign(grant(), &owner());
    let lower = signed
        .to_json()
        .replace(&DELEGATE.to_string(), &DELEGATE.to_string().to_lowercase());
    assert_eq!(Signed::<Grant>::parse(&lower).unwrap(), signed);
}
