//! Lists the public items of a crate, a line each, from the JSON of rustdoc.

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let json = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: broadsweep-api FILE.json")?);
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(false)
        .build()?;
    print!("{api}");
    Ok(())
}
