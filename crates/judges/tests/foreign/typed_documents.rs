//! Signs every typed document that a route or a tool hands out with the code of a browser wallet
//! (npm `@metamask/eth-sig-util`) and with npm `viem`: both compute our digest, write the same
//! signature, and recover the same signer.

use alloy_primitives::{Address, B256};
use judges::{Toolchain, judge};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::documents::documents;
use crate::fence_messages::KEYS;

/// The verdict of both libraries.
#[derive(Debug, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) metamask: Signed,
    pub(crate) viem: Signed,
}

/// A signature, its digest, and the signers that the library recovers from both signatures.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Signed {
    digest: B256,
    pub(crate) signature: String,
    signer: Address,
    signer_of_the_other: Address,
}

/// Signs documents with both libraries.
async fn sign_all(toolchain: &Toolchain, key: &str, documents: &[Value]) -> Vec<Verdict> {
    let order: Vec<Value> = documents
        .iter()
        .map(|document| json!({"private_key": key, "typed_data": document}))
        .collect();
    let verdicts: Vec<Verdict> = judge(toolchain.node_agent("typed-documents.mjs"), &order)
        .await
        .unwrap();
    assert_eq!(verdicts.len(), documents.len());
    verdicts
}

/// Signs one document with both libraries.
pub(crate) async fn sign(toolchain: &Toolchain, key: &str, document: &Value) -> Verdict {
    let documents = std::slice::from_ref(document);
    sign_all(toolchain, key, documents).await.pop().unwrap()
}

#[tokio::test]
async fn metamask_and_viem_sign_every_typed_document_alike() {
    let toolchain = Toolchain::from_env().unwrap();
    let [private_key, _] = KEYS;
    let signer = keystore::Key::from_text(private_key).unwrap().address();
    let documents = documents();
    let jsons: Vec<Value> = documents.iter().map(|it| it.json.clone()).collect();
    let verdicts = sign_all(&toolchain, private_key, &jsons).await;
    for (document, Verdict { metamask, viem }) in documents.iter().zip(&verdicts) {
        let name = &document.name;
        assert_eq!(metamask.digest, document.digest, "{name}: {metamask:?}");
        assert_eq!(metamask.signer, signer, "{name}");
        assert_eq!(metamask.signer_of_the_other, signer, "{name}");
        assert_eq!(metamask, viem, "{name}");
    }
}

/// The judge sees the fault for which it is here: without the members of the domain a browser
/// wallet signs something else than viem.
#[tokio::test]
async fn a_document_without_its_domain_type_has_another_signer() {
    let toolchain = Toolchain::from_env().unwrap();
    let [private_key, _] = KEYS;
    let documents = documents();
    let mut jsons: Vec<Value> = documents.iter().map(|it| it.json.clone()).collect();
    for json in &mut jsons {
        let types = json["types"].as_object_mut().unwrap();
        types.remove("EIP712Domain").unwrap();
    }
    let verdicts = sign_all(&toolchain, private_key, &jsons).await;
    for (document, Verdict { metamask, viem }) in documents.iter().zip(&verdicts) {
        let name = &document.name;
        assert_eq!(viem.digest, document.digest, "{name}");
        assert_ne!(metamask.digest, document.digest, "{name}");
        assert_ne!(viem.signer_of_the_other, viem.signer, "{name}");
    }
}
