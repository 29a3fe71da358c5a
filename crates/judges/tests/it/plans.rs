//! `ethers-core` reads the same facts in the bytes of generated plans, and comes to the same
//! digests: the signed ones and those that a hardware wallet shows.

mod calldata;
mod device;
mod typed_data;
