//! Tests of signatures over other messages, and of signatures of other forms.

use serde_json::{Value, json};
use x402_wire::{Invalid, SignatureStanding};

use super::{good, matching, with};

#[test]
fn any_signed_member_that_changes_changes_the_signer() {
    let changes = [
        ("/payload/authorization/value", json!("2001")),
        (
            "/payload/authorization/to",
            json!("0x00000000000000000000000000000000000000AA"),
        ),
        ("/payload/authorization/validAfter", json!("1")),
        ("/payload/authorization/validBefore", json!("1795219501")),
        (
            "/payload/authorization/nonce",
            json!(format!("0x{}", "11".repeat(32))),
        ),
        (
            "/payload/authorization/from",
            json!("0x00000000000000000000000000000000000000AA"),
        ),
    ];
    for (pointer, value) in changes {
        let invalid = matching(&with(pointer, value)).unwrap().check_signature();
        assert!(
            matches!(invalid, Err(Invalid::Signer { .. })),
            "{pointer}: {invalid:?}"
        );
    }
}

#[test]
fn signatures_of_other_forms_are_judged_by_their_form() {
    let signature = good()["payload"]["signature"].as_str().unwrap().to_owned();
    let judged = |signature: &str| {
        matching(&with("/payload/signature", json!(signature)))
            .unwrap()
            .check_signature()
    };
    let body = &signature[..130];
    assert_eq!(
        judged(&format!("{body}01")),
        Ok(SignatureStanding::Recovered),
        "v 1 stands for 28"
    );
    assert!(matches!(
        judged(&format!("{body}1b")),
        Err(Invalid::Signer { .. })
    ));
    for v in ["02", "1d", "ff", "25"] {
        let judged = judged(&format!("{body}{v}"));
        assert!(
            matches!(judged, Err(Invalid::RecoveryValue { .. })),
            "{v}: {judged:?}"
        );
    }
    assert!(matches!(
        judged(body),
        Err(Invalid::SignatureLength { observed: 64 })
    ));
    assert!(matches!(
        judged("0x"),
        Err(Invalid::SignatureLength { observed: 0 })
    ));
    assert!(matches!(
        judged(&signature[2..]),
        Err(Invalid::SignatureText)
    ));
    assert!(matches!(
        judged("c2lnbmF0dXJl"),
        Err(Invalid::SignatureText)
    ));
    assert!(matches!(
        judged(&format!("0x0x{}", &signature[2..])),
        Err(Invalid::SignatureText)
    ));
    // Only a chain can judge a contract wallet's signature.
    assert!(
        matches!(judged(&format!("{signature}00")), Ok(SignatureStanding::Contract(b)) if b.len() == 66)
    );
    let zero = format!("0x{}1b", "00".repeat(64));
    assert!(matches!(
        judged(&zero),
        Err(Invalid::Signer { observed: None, .. })
    ));
}

#[test]
fn a_session_signature_is_left_to_the_facilitator() {
    let mut payment = with("/accepted/scheme", json!("aggr_deferred"));
    payment["payload"]["signature"] = json!("c2Vzc2lvbiBzaWduYXR1cmU=");
    payment["accepted"]["extra"]["sessionCert"] = json!("Y2VydA==");
    let payment = matching(&payment).unwrap();
    assert_eq!(payment.check_signature(), Ok(SignatureStanding::Session));
    let body = x402_wire::facilitator::request_body(&payment, None);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        body["paymentPayload"]["accepted"]["extra"]["sessionCert"],
        "Y2VydA=="
    );
    assert!(
        body["paymentRequirements"]["extra"]
            .get("sessionCert")
            .is_none()
    );
}

#[test]
fn nothing_prints_a_signature() {
    let payment = matching(&good()).unwrap();
    let signature = payment.payload().signature().as_str().to_owned();
    assert!(
        !format!("{payment:?} {:?}", payment.payload().signature()).contains(&signature[2..20])
    );
}
