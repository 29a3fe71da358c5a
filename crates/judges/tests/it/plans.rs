//! Compares generated plans with `ethers-core`. It reads the same facts in their bytes, and
//! computes the same digests: those that are signed, and those that a hardware wallet shows.

mod calldata;
mod device;
mod typed_data;
