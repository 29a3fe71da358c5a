//! Attacks on paid calls. Each is refused by name and free of charge.

mod credit;
mod hanging_up;
mod look_up;
mod payments;
mod private_answers;
mod proof;
mod recognition;
mod requests;
mod wallets;
