//! The buyer's side: from a challenge to a payment, and from a receipt to an outcome.
//!
//! 1. A [`SpendPolicy`] [chooses](SpendPolicy::choose) one offer of a challenge, or refuses
//!    each of them with a reason.
//! 2. The [`Choice`] becomes an [`UnsignedPayment`]: an EIP-3009 authorization with a
//!    [digest](UnsignedPayment::digest) and [typed data](UnsignedPayment::typed_data) to sign. Its
//!    amount leaves the [`Budget`] here.
//! 3. A signature makes it a [`SignedPayment`] with the header value. Every retry sends this same
//!    value.
//! 4. Every answer becomes a [`Step`]: send the same header again, look the payment up, sign a new
//!    one, or stop. The last one says which payment [bought](BoughtWith) the answer, and the
//!    `PAYMENT-RESPONSE` becomes a [`PaymentOutcome`].
//!
//! The module never opens a socket, reads a clock, draws a random number or sees a key: the caller
//! passes time, nonce and signature in. Six rules keep a buyer's money:
//!
//! - The buyer signs only what the policy allows: network, asset, payee and amount.
//! - An authorization ends within the policy's [window](SpendPolicy::with_window).
//! - One purchase is one signed payment. A second challenge that asks for another price, payee or
//!   asset is [`TermsChanged`]; one that asks for the same gets the same header.
//! - A receipt is not proof: an [`PaymentOutcome`] is the seller's claim.
//! - Who wants the same twice names another payment identifier: without one, a seller may answer a
//!   second payment with the first one's answer.
//! - A lost answer is not a refusal: send the header again, and keep the amount out of the budget
//!   until the authorization has ended and the chain shows it unused.
//!
//! It does not compare `resource.url` with the request: only the caller knows what it asked for.
//!
//! # Example
//! The page of the crate shows a purchase. This is the answer to a second challenge:
//! ```
//! # use alloy_primitives::{B256, Bytes, U256, address};
//! # use x402_wire::buyer::{Allowance, Budget, Purchase, SpendPolicy, TermsChanged};
//! # use x402_wire::{Asset, Network, PaymentRequired, Resource, Terms, MicroUsd};
//! # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
//! # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
//! # let mut budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
//! # let terms = Terms {
//! #     network: xlayer,
//! #     pay_to: address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
//! #     max_timeout_seconds: 300,
//! #     assets: vec![usdt0],
//! # };
//! # let challenge_at = |price| {
//! #     let offer = terms.offer(MicroUsd::dollars(price));
//! #     PaymentRequired::new(Resource::new("https://api.example/price"), offer.options().cloned())
//! # };
//! # let purchase = Purchase::new(address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), 1_795_219_200, B256::ZERO);
//! let choice = policy.choose(&challenge_at("0.002"), &budget)?;
//! let unsigned = choice.authorize(purchase, &mut budget)?;
//! let typed_data = unsigned.typed_data(); // for a wallet that shows what it signs
//! assert_eq!(typed_data["primaryType"], "TransferWithAuthorization");
//! # let wallet_signature = Bytes::from(vec![1; 65]);
//! let payment = unsigned.sign_by_wallet(&wallet_signature)?;
//!
//! // The same terms again: the same header. Other terms: nothing.
//! assert_eq!(payment.again(&challenge_at("0.002")), Ok(payment.header()));
//! let dearer = payment.again(&challenge_at("0.003"));
//! assert!(matches!(dearer, Err(TermsChanged::Amount { .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod budget;
mod choice;
mod next;
mod outcome;
mod payment;
mod policy;
mod refusal;

pub use budget::{Budget, BudgetExceeded};
pub use choice::{AuthorizeError, Choice, Purchase, TermsChanged};
pub use next::{BoughtWith, PaymentState, SellerAnswer, Step};
pub use outcome::{OutcomeError, PaymentOutcome};
pub use payment::{SignedPayment, UnsignedPayment};
pub use policy::{Allowance, SpendPolicy};
pub use refusal::{NoOffer, NotChosen, Refusal};
