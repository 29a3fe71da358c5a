//! Messages that are not minted.

use alloy_primitives::{Address, Bytes, U256};
use dev_chain::abi::{MessageTransmitter, MultiMinterToken};
use dev_chain::cctp::{ATTESTER, MESSAGE_TRANSMITTER, TOKEN_MINTER};
use dev_chain::{BUYER, MINTER, arbitrum};

use super::{AMOUNT, FEE, burn, burn_call, mint_of, minted, receive, world};
use crate::plan::{HOLDER, Step, balance, submit};

#[test]
fn a_refused_message_names_the_reason() {
    let world = world();
    let good = mint_of(&world, burn(&world, &burn_call(FEE, 1000)));
    let attested = |message: Vec<u8>| {
        use alloy_signer::SignerSync as _;
        let signature = crate::support::signer(ATTESTER)
            .sign_hash_sync(&alloy_primitives::keccak256(&message))
            .unwrap();
        MessageTransmitter::receiveMessageCall {
            message: message.into(),
            attestation: signature.as_bytes().to_vec().into(),
        }
    };
    // The service signs like any signer.
    assert_eq!(
        attested(good.message.to_vec()).attestation,
        good.attestation
    );
    let refused = |at: usize, bytes: &[u8]| {
        let mut message = good.message.to_vec();
        message.splice(at..at + bytes.len(), bytes.iter().copied());
        receive(&world, &attested(message))
    };
    let word = |value: u64| U256::from(value).to_be_bytes::<32>();
    assert_eq!(
        refused(8, &6_u32.to_be_bytes()),
        "Invalid destination domain"
    );
    assert_eq!(refused(0, &2_u32.to_be_bytes()), "Invalid message version");
    assert_eq!(
        refused(108, MINTER.address.into_word().as_slice()),
        "Invalid caller for message"
    );
    assert_eq!(
        refused(44, MINTER.address.into_word().as_slice()),
        "Remote TokenMessenger unsupported"
    );
    assert_eq!(refused(4, &7_u32.to_be_bytes()), "Mint token not supported");
    assert_eq!(
        refused(144, &499_u32.to_be_bytes()),
        "Unsupported finality threshold"
    );
    assert_eq!(refused(148 + 164, &word(FEE + 1)), "Fee exceeds max fee");
    assert_eq!(
        refused(148 + 164, &word(AMOUNT)),
        "Fee equals or exceeds amount"
    );
    assert_eq!(
        refused(148 + 196, &word(1)),
        "Message expired and must be re-signed"
    );
    assert_eq!(
        refused(148, &2_u32.to_be_bytes()),
        "Invalid message body version"
    );

    let mut forged = good.clone();
    forged.message = with_other_recipient(&good.message);
    assert_eq!(receive(&world, &forged), "Invalid signature: not attester");
    let mut short = good.clone();
    short.attestation = Bytes::from_static(&[1; 64]);
    assert_eq!(receive(&world, &short), "Invalid attestation length");
    // The bytes of the log are not the attested ones: their nonce is zero.
    let call = MessageTransmitter::setAttesterCall {
        attester: MINTER.address,
    };
    world
        .destination
        .call_as(MINTER.address, MESSAGE_TRANSMITTER, &call)
        .unwrap();
    assert_eq!(receive(&world, &good), "Invalid signature: not attester");
}

/// The message with another recipient.
fn with_other_recipient(message: &Bytes) -> Bytes {
    let mut message = message.to_vec();
    message[148 + 67] ^= 1;
    message.into()
}

#[test]
fn the_attested_message_reveals_a_hostile_service() {
    let world = world();
    let transaction = burn(&world, &burn_call(FEE, 1000));
    world.iris.set_fee_executed(Some(U256::from(FEE + 1)));
    assert_eq!(
        receive(&world, &mint_of(&world, transaction)),
        "Fee exceeds max fee"
    );
    world.iris.set_fee_executed(None);
    world.iris.set_expiration_block(1);
    let reason = receive(&world, &mint_of(&world, transaction));
    assert_eq!(reason, "Message expired and must be re-signed");
    world.iris.set_expiration_block(0);
    let thief = Address::repeat_byte(0xba);
    world.iris.set_recipient(Some(thief));
    let call = mint_of(&world, transaction);
    submit(
        &world.destination,
        HOLDER,
        &Step::new(MESSAGE_TRANSMITTER, &call),
    );
    assert_eq!(minted(&world), U256::ZERO);
    assert_eq!(
        balance(&world.destination, arbitrum::USDC, thief),
        U256::from(AMOUNT - FEE)
    );
}

#[test]
fn only_named_minters_mint() {
    let world = world();
    let configure = |by, allowance| {
        let call = MultiMinterToken::configureMinterCall {
            account: TOKEN_MINTER,
            allowance,
        };
        world.destination.call_as(by, arbitrum::USDC, &call)
    };
    assert!(configure(BUYER.address, U256::ONE).is_err());
    let call = mint_of(&world, burn(&world, &burn_call(FEE, 1000)));
    configure(MINTER.address, U256::ONE).unwrap();
    assert_eq!(
        receive(&world, &call),
        "FiatToken: mint amount exceeds minterAllowance"
    );
    configure(MINTER.address, U256::ZERO).unwrap();
    assert_eq!(receive(&world, &call), "FiatToken: caller is not a minter");
}
