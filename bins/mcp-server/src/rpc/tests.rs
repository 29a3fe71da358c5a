//! For any bytes, the reader returns a message with its id, or a fault that the protocol knows.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Fault, Message};

/// A message of the current revision.
const WHOLE: &str = r#"{"jsonrpc":"2.0","id":"i\u0064-7","method":"tools/call","params":{"name":"svc_prepare_swap","arguments":{"a":[1,2.5e3,"\"x\\"],"b":{"c":null}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// Reads bytes as the server does, and checks the promises of every reading.
fn read(bytes: &[u8]) {
    let (fault, id) = match Message::parse(bytes) {
        Ok(message) => {
            // For another reader, too, an accepted message is JSON with these members.
            let value: Value = serde_json::from_slice(bytes).unwrap();
            assert_eq!(value["jsonrpc"], "2.0");
            assert_eq!(value["method"], *message.method);
            assert_eq!(value.get("id").is_some(), message.id.is_some());
            (Fault::invalid_params("x"), message.id)
        }
        Err(refused) => refused,
    };
    let answer = fault.answer(id).body.unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["jsonrpc"], "2.0");
    assert!(answer["error"]["code"].is_i64());
    if let Some(id) = id {
        // Compared as text: an integer may be larger than any type here.
        assert_eq!(answer["id"].is_string(), id.json().starts_with('"'));
    }
}

#[test]
fn every_byte_of_a_message_matters_or_does_not_harm() {
    read(WHOLE.as_bytes());
    for position in 0..WHOLE.len() {
        for byte in [
            0, b'"', b'\\', b'{', b'}', b'[', b',', b':', b'0', b' ', 0x80, 0xff,
        ] {
            let mut bytes = WHOLE.as_bytes().to_vec();
            bytes[position] = byte;
            read(&bytes);
        }
        read(&WHOLE.as_bytes()[..position]);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!("2.0")),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![
            Just("jsonrpc".to_owned()),
            Just("id".to_owned()),
            Just("method".to_owned()),
            Just("params".to_owned()),
            Just("_meta".to_owned()),
            "[a-z]{1,4}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(name, inner, 0..6)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_read_or_refused(value in any_json()) {
        read(value.to_string().as_bytes());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes);
    }

    #[test]
    fn any_id_and_method_come_back(id in "\\PC{0,20}", method in "\\PC{0,20}") {
        let text = json!({ "jsonrpc": "2.0", "id": id, "method": method }).to_string();
        let message = Message::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(&*message.method, method.as_str());
        let echoed: String = serde_json::from_str(message.id.unwrap().json()).unwrap();
        prop_assert_eq!(echoed, id);
    }
}
