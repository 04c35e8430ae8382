//! TODO
use super::Decode;
use crate::core::{
    error::{Failure, Result},
    message::Message,
    request::{Delta, Request, Response},
};
pub fn encode_request(_request: &Request) -> Result<String> {
    todo!()
}
pub fn decode_request(_body: &str) -> Result<Request> {
    todo!()
}
pub fn decode_response(_body: &str) -> Result<Response, Failure> {
    todo!()
}
pub fn encode_response(_response: &Response) -> String {
    todo!()
}
pub fn encode_stream(_response: &Response, _piece: usize) -> Vec<(String, String)> {
    todo!()
}
pub fn encode_message(_message: &Message) -> String {
    todo!()
}
#[derive(Default)]
pub struct StreamDecoder {}
impl Decode for StreamDecoder {
    fn event(&mut self, _name: &str, _data: &str, _deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        todo!()
    }
    fn is_done(&self) -> bool {
        todo!()
    }
    fn finish(&mut self) -> Result<Response, Failure> {
        todo!()
    }
    fn partial(&self) -> Option<Response> {
        todo!()
    }
}
