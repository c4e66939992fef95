from lxml import etree


def read_invoice(document: bytes):
    # ruleid: python-xxe
    parser = etree.XMLParser(resolve_entities=True, no_network=False)
    return etree.fromstring(document, parser)


def read_invoice_fixed(document: bytes):
    # ok: python-xxe
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    return etree.fromstring(document, parser)
