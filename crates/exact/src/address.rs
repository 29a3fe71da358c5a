//! Addresses as people write them into a configuration, and accounts that must not receive money.
//!
//! A wrong digit in an address sends money to an account that nobody controls, and nothing else
//! notices the mistake. An address with a checksum (EIP-55) reveals it; an address in one case does
//! not. So print the address that will be paid, and have a person compare it.
//!
//! ```
//! use alloy_primitives::address;
//! use exact::address::{AddressFault, ConfiguredAddress, PayeeFault, check_payee, parse};
//!
//! // A spelling with both cases carries a checksum (EIP-55). Here its last digit is wrong.
//! let fault = parse("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee").unwrap_err();
//! assert_eq!(fault.code(), "address_checksum");
//! assert!(fault.to_string().contains("observed 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee"));
//!
//! // A spelling with one case carries none, so nothing can be compared.
//! assert!(parse("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed").is_ok());
//!
//! // A field of a configuration keeps its fault, so that all problems of a file are named at once.
//! let field: ConfiguredAddress = serde_json::from_str("\"0x12\"").unwrap();
//! assert_eq!(field.get(), Err(AddressFault::Form { length: 4 }));
//!
//! // An account of the local test chains: everybody has its key.
//! let known = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
//! assert_eq!(check_payee(known), Err(PayeeFault::LocalChain { account: known }));
//! ```

mod payee;
mod spelling;

pub use self::{
    payee::{LOCAL_CHAIN_ACCOUNTS, PayeeFault, check_payee},
    spelling::{AddressFault, ConfiguredAddress, PLACEHOLDER, parse},
};
