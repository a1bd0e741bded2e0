// Tells React Native what RetvecLiteModule.swift has.
#import <React/RCTBridgeModule.h>

@interface RCT_EXTERN_MODULE (RetvecLite, NSObject)
RCT_EXTERN_METHOD(open : (NSString *)path resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(predict : (NSInteger)number texts : (NSArray<NSString *> *)texts resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(predictAll : (NSInteger)number text : (NSString *)text resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(probabilities : (NSInteger)number text : (NSString *)text resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(explain : (NSInteger)number text : (NSString *)text label : (nullable NSString *)label resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(embed : (NSInteger)number text : (NSString *)text resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(teach : (NSInteger)number text : (NSString *)text label : (NSString *)label resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(forget : (NSInteger)number text : (NSString *)text resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(memoryTexts : (NSInteger)number resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(memorySave : (NSInteger)number path : (NSString *)path resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(memoryLoad : (NSInteger)number path : (NSString *)path resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(memoryClear : (NSInteger)number resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
RCT_EXTERN_METHOD(close : (NSInteger)number resolve : (RCTPromiseResolveBlock)resolve reject : (RCTPromiseRejectBlock)reject)
@end
